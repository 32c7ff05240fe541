// Writes docs/implementations.md from the folders in conformance/submissions: maintainers' reports about
// their own projects, separate from our own runs, with a badge for each.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Results } from '../../conformance/judge/judge.ts'
import { type About, readAbout, SUBMISSION } from '../../conformance/judge/rejudge.ts'
import { badge } from '../../conformance/judge/write.ts'

interface Submitted {
  /** Such as `5.0/portkey`. */
  readonly place: string
  readonly about: About
  readonly results: Results
}

const FOLDER = 'conformance/submissions'

/** Reads all submissions, with the newest set first. */
export const submissionsIn = (root: string): Submitted[] =>
  globSync(`*/*/${SUBMISSION}`, { cwd: join(root, FOLDER) })
    .map((file) => file.replaceAll('\\', '/').replace(`/${SUBMISSION}`, ''))
    .filter((place) => existsSync(join(root, FOLDER, place, 'results.json')))
    .sort((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10) || a.localeCompare(b))
    .map((place) => ({
      place,
      about: readAbout(join(root, FOLDER, place)),
      results: JSON.parse(readFileSync(join(root, FOLDER, place, 'results.json'), 'utf8')),
    }))

/** Files of a submission that the page links to. */
const FILES = { [SUBMISSION]: 'steps', 'results.json': 'verdicts', 'evidence.jsonl.gz': 'evidence' }

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

function rowOf({ place, about, results }: Submitted): string {
  const { profile, set, conclusion, counts, verdicts } = results
  const tried = verdicts.filter(({ outcome }) =>
    ['pass', 'fail', 'warn', 'untestable'].includes(outcome),
  ).length
  const exceptions = about.exceptions.map(({ id, expires }) => `${id} until ${expires}`).join(', ')
  const cells = [
    `[${about.project}](${about.url}) ${about.version}`,
    `${profile}, ${set}`,
    conclusion,
    `${counts.pass} of ${tried} hold; ${counts['not-applicable']} not declared or not offered`,
    exceptions || 'none',
    Object.entries(FILES)
      .map(([file, word]) => `[${word}](../${FOLDER}/${place}/${file})`)
      .join(', '),
  ]
  return `| ${cells.map(cell).join(' | ')} |`
}

const HEAD = [
  '| project and version | profile, set | conclusion | requirements | exceptions | files |',
  '|---|---|---|---|---|---|',
]

/** Returns the page. */
export function implementationsPage(all: readonly Submitted[]): string {
  const by = (who: About['by']) => all.filter(({ about }) => about.by === who).map(rowOf)
  const [theirs, ours] = [by('its maintainers'), by('us')]
  return [
    '# Implementations',
    '',
    '<!-- Written by `npm run docs` from conformance/submissions/. -->',
    '',
    'This page lists reports of runs of the suite with their evidence. Before a report is accepted, its verdicts are computed again from the evidence, and a verdict that does not follow from it is refused. An invented transcript cannot be distinguished from a real one. If you doubt a report, repeat the run with its steps. [How to submit a report](submitting.md) has five steps.',
    '',
    '## Reported by its maintainers',
    '',
    ...(theirs.length > 0 ? [...HEAD, ...theirs] : ['None yet.']),
    '',
    '## Run by us',
    '',
    'These projects were chosen, configured and run by the maintainers of the suite. Their own maintainers have not been asked to confirm the results. A report by the maintainers replaces ours.',
    '',
    ...(ours.length > 0 ? [...HEAD, ...ours] : ['None yet.']),
    '',
  ].join('\n')
}

/** Returns the badges for shields.io: file name -> badge. */
export const badgesOf = (all: readonly Submitted[]): Record<string, string> =>
  Object.fromEntries(
    all.map(({ place, results }) => [
      `docs/badges/${place.split('/')[1]}-${results.profile}-${results.set}.json`,
      `${JSON.stringify(badge(results))}\n`,
    ]),
  )
