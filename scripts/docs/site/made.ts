// Pages generated from data of the repository when the site is built: file to which links in the repository
// point -> text of the page. Links in a text are relative to this file.
import { join } from 'node:path'
import { readRequirements } from '../../../conformance/requirements/requirements.ts'
import { readAbsent, readNotes, readOutcomes, scoreboardPage } from '../../gateways/scoreboard.ts'
import { readProofs } from '../../gateways/scoreboard-evidence.ts'
import { scoreboardHtml } from '../../gateways/scoreboard-page.ts'
import { mustFailPage, mustPassPage } from '../../selftest/pages.ts'
import { readMustFail, readMustPass } from '../../selftest/results.ts'
import { PUBLIC_PROFILES, profilePage, profilesIndex } from '../profile-pages.ts'
import { requirementsPage } from '../requirements.ts'

export const MADE_PAGES: Readonly<Record<string, () => string>> = {
  'docs/scoreboard/README.md': () => scoreboardPage(readOutcomes(), readNotes(), readAbsent()),
  'docs/selftest/must-fail.json': () => mustFailPage(readMustFail()),
  'docs/selftest/must-pass.json': () => mustPassPage(readMustPass()),
  'docs/profiles/README.md': () => profilesIndex(readRequirements()),
  ...Object.fromEntries(
    PUBLIC_PROFILES.map((name) => [
      `conformance/profiles/${name}.yaml`,
      () => profilePage(name, readRequirements()),
    ]),
  ),
  'scripts/docs/requirements.ts': () => requirementsPage(join(import.meta.dirname, '../../..')).page,
}

/** Returns the scoreboard with a filter and its evidence, as a self-contained page. */
export const filteredScoreboard = (): string =>
  scoreboardHtml(readOutcomes(), readNotes(), readProofs, readAbsent())
