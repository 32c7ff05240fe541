// Prepares the pages of the site, in the order of its sidebar, from the repository's Markdown and from generated pages. Links
// to other pages stay, links to other files point to copies, and links to missing files are errors.
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { readRequirements } from '../../../conformance/checks/requirements.ts'
import { SUITE } from '../../../conformance/runner/run.ts'
import { readAbsent, readNotes, readOutcomes, scoreboardPage } from '../../gateways/scoreboard.ts'
import { readProofs } from '../../gateways/scoreboard-evidence.ts'
import { scoreboardHtml } from '../../gateways/scoreboard-page.ts'
import { mustFailPage, mustPassPage, readMustFail, readMustPass } from '../../selftest/results.ts'
import {
  PUBLIC_PROFILES,
  profilePage,
  profilesIndex,
  profilesJson,
  requirementsPage,
} from '../requirements.ts'

const PAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Start: {
    'docs/index.md': 'What it is',
    'docs/gateway.md': 'Use it as a gateway',
    'docs/test-your-gateway.md': 'Test your gateway',
    'docs/test-your-application.md': 'Test your application',
  },
  'The gateway': {
    'docs/local-models.md': 'Local models and other providers',
    'docs/keep-your-keys.md': 'Keep your keys',
    'docs/configuration.md': 'Configuration',
    'docs/routing.md': 'Routing cookbook',
    'docs/page.md': 'The page',
    'docs/steps.md': 'Steps of a session',
    'docs/status-line.md': 'The status line',
    'docs/api.md': 'Endpoints and headers',
    'docs/troubleshooting.md': 'Errors, and what to do',
    'docs/command-line.md': 'Commands',
    'docs/models.md': 'What models accept',
    'docs/passthrough.md': 'Audio, files and batches',
    'docs/losses.md': 'What a translation loses',
  },
  'Coding agents': {
    'docs/agents.md': 'All of them',
    'docs/agents/claude-code.md': 'Claude Code',
    'docs/agents/codex.md': 'Codex',
    'docs/agents/opencode.md': 'opencode',
    'docs/agents/copilot.md': 'GitHub Copilot CLI',
    'docs/agents/qwen.md': 'Qwen Code',
    'docs/agents/gemini.md': 'Gemini CLI',
    'docs/agents/aider.md': 'aider',
    'docs/agents/continue.md': 'Continue',
    'docs/agents/cline.md': 'Cline',
    'docs/agents/pi.md': 'pi',
  },
  Testing: {
    'docs/conformance.md': 'Conformance guide',
    'docs/target-files.md': 'Target files',
    'docs/vectors.md': 'Vectors for any language',
    'recordings/README.md': 'Recordings',
    'mocks/README.md': 'Mock providers',
    'docs/scoreboard/README.md': 'Scoreboard',
    'docs/implementations.md': 'Implementations',
    'docs/what-broke-when.md': 'What broke when',
    'docs/submitting.md': 'Submit a report',
    'docs/profiles/README.md': 'Requirements by profile',
    'conformance/profiles/core.yaml': 'Profile core',
    'conformance/profiles/observable.yaml': 'Profile observable',
    'conformance/profiles/server.yaml': 'Profile server',
    'conformance/profiles/claude-code.yaml': 'Profile claude-code',
    'conformance/profiles/codex.yaml': 'Profile codex',
    'conformance/profiles/open-responses.yaml': 'Profile open-responses',
  },
  'Running it': {
    'docs/operations.md': 'Operations',
    'docs/billing.md': 'Costs and bills',
    'docs/credentials.md': 'Credentials',
    'docs/containers.md': 'Containers',
    'docs/fleet.md': 'Several gateways',
    'docs/traces.md': 'Traces',
    'docs/security.md': 'Security model',
    'SECURITY.md': 'Reporting a vulnerability',
    'docs/from-other-gateways.md': 'From another gateway',
    'docs/upgrading.md': 'Upgrading',
    'docs/platforms.md': 'Platforms',
    'docs/stability.md': 'Stability',
  },
  Background: {
    'docs/comparison.md': 'Comparison with other gateways',
    'docs/benchmarks.md': 'Benchmarks',
    'docs/contract.md': 'The contract',
    'scripts/docs/requirements.ts': 'Requirements and tests',
    'docs/selftest/must-fail.json': 'What the checks catch',
    'docs/selftest/must-pass.json': 'What they must accept',
    'docs/translation.md': 'Translation, measured',
    'docs/deviations.md': 'Clients and deviations',
    'docs/releasing.md': 'Releasing',
    'CHANGELOG.md': 'Changes',
    'CONTRIBUTING.md': 'Contributing',
    'DECISIONS.md': 'Decisions',
  },
}

const ELSEWHERE: Readonly<Record<string, string>> = {
  'README.md': 'index',
  'SECURITY.md': 'reporting',
  'mocks/README.md': 'mock',
  'recordings/README.md': 'recordings',
  'docs/scoreboard/README.md': 'scoreboard',
  'docs/profiles/README.md': 'profiles',
  'scripts/docs/requirements.ts': 'requirements',
  'docs/selftest/must-fail.json': 'must-fail',
  'docs/selftest/must-pass.json': 'must-pass',
}

/** Returns the address of a source file's page in the site, without an extension. */
const pageAddress = (source: string): string =>
  ELSEWHERE[source] ?? source.replace(/^(docs|conformance)\//, '').replace(/\.(md|yaml)$/, '')

/** Writes `directory` from scratch. Throws with every broken link. */
export function writeContent(root: string, directory: string): void {
  const sources = Object.values(PAGES).flatMap((pages) => Object.keys(pages))
  const missing = globSync('docs/**/*.md', { cwd: root }).filter((page) => !sources.includes(page))
  const problems = missing.map((page) => `${page} is not in PAGES of scripts/docs/site/content.ts`)
  rmSync(directory, { recursive: true, force: true })
  const put = (from: string, to: string) => {
    mkdirSync(dirname(join(directory, to)), { recursive: true })
    copyFileSync(join(root, from), join(directory, to))
  }
  put('src/page/icon.svg', 'public/files/src/page/icon.svg')
  const files = join(directory, 'public/files')
  cpSync(join(root, 'docs/scoreboard/evidence'), join(files, 'scoreboard/evidence'), { recursive: true })
  writeFileSync(join(files, 'scoreboard.html'), filteredScoreboard())
  writeFileSync(join(files, 'profiles.json'), profilesJson(readRequirements(), SUITE))
  for (const source of sources) {
    const { text, files, broken } = withLinks(root, source, sources)
    for (const [from, to] of files) put(from, `public${to}`)
    problems.push(...broken.map((link) => `${source} links to ${link}, which is not there`))
    const page = join(directory, `${pageAddress(source)}.md`)
    mkdirSync(dirname(page), { recursive: true })
    writeFileSync(page, text)
  }
  const sidebar = Object.entries(PAGES).map(([text, pages]) => ({
    text,
    items: Object.entries(pages).map(([source, name]) => ({ text: name, link: `/${pageAddress(source)}` })),
  }))
  writeFileSync(join(directory, 'sidebar.json'), JSON.stringify(sidebar))
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

/** Returns the text of a page with the links of the site; `files`: source -> address of the files to copy. */
function withLinks(root: string, source: string, pages: readonly string[]) {
  const files = new Map<string, string>()
  const broken: string[] = []
  const here = posix.dirname(pageAddress(source))
  /** Returns the address of a linked file; null for a directory, which a site cannot show. */
  const lead = (link: string): string | null => {
    if (/^(\w+:|#|\/)/.test(link)) return link
    const [path = '', anchor] = link.split('#')
    const target = relative(root, join(root, dirname(source), path))
    const behind = anchor === undefined ? '' : `#${anchor}`
    if (pages.includes(target) || target === 'README.md') {
      const to = posix.relative(here, `${pageAddress(target)}.md`)
      return `${to.startsWith('.') ? to : `./${to}`}${behind}`
    }
    if (!existsSync(join(root, target))) {
      broken.push(link)
      return link
    }
    if (statSync(join(root, target)).isDirectory()) return null
    // Adds .txt, so that a browser shows the file as text with any server.
    const to = `/files/${target}${/\.(png|svg|html|gz)$/.test(target) ? '' : '.txt'}`
    files.set(target, to)
    return to
  }
  const text = outsideCode(
    MADE_PAGES[source]?.() ?? readFileSync(join(root, source), 'utf8'),
    (prose) =>
      prose
        .replaceAll(
          /(?<!!)\[([^\]]*)\]\(([^)\s]+)\)|\]\(([^)\s]+)\)/g,
          (_, text: string, link: string, other: string) => {
            const to = lead(link ?? other)
            return text === undefined ? `](${to})` : to === null ? text : `[${text}](${to})`
          },
        )
        .replaceAll(/<(?=[a-z/])(?!https?:|br>)/gi, '&lt;'), // a name in angle brackets is not an element
  )
  return { text, files, broken }
}

const CODE = /^(`{3,}|~{3,})[\s\S]*?^\1`*$|(`+)(?!`)[^\n]*?(?<!`)\2(?!`)/gm

/** Applies `change` to all text outside of code. */
function outsideCode(text: string, change: (prose: string) => string): string {
  const kept: string[] = []
  const marked = text.replaceAll(CODE, (code) => `\0${kept.push(code) - 1}\0`)
  return change(marked).replaceAll(/\0(\d+)\0/g, (_, n: string) => kept[Number(n)]!)
}

const MADE_PAGES: Readonly<Record<string, () => string>> = {
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
const filteredScoreboard = (): string => scoreboardHtml(readOutcomes(), readNotes(), readProofs, readAbsent())
