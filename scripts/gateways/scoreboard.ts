// Builds the scoreboard from docs/scoreboard: one small file for each gateway, its evidence
// (scoreboard-evidence.ts), and notes.yaml (one sentence for each failure). Runs nothing.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'
import { readRequirements, withoutDialect } from '../../conformance/checks/requirements.ts'
import type { Results, Verdict } from '../../conformance/judge/judge.ts'
import { rejudge } from '../../conformance/judge/rejudge.ts'
import { readTarget } from '../../conformance/target/read.ts'
import { CAPABILITIES, declares } from '../../conformance/target/schema.ts'
import { keepProofs } from './scoreboard-evidence.ts'

const docs = fileURLToPath(new URL('../../docs/', import.meta.url))
const board = join(docs, 'scoreboard')
/** Profile of the scoreboard. */
export const BOARD_PROFILE = 'observable' as const
/** Profiles of clients, which are also run for gateways that serve the client's dialect. */
export const CLIENT_PROFILES = ['claude-code', 'codex'] as const

/** Outcomes that need a sentence in notes.yaml. */
export const NOTED = ['fail', 'warn', 'untestable', 'harness-error']

/** Stored result of a run. */
export interface StoredRun {
  readonly name: string
  readonly title: string
  readonly version: string
  readonly homepage: string
  readonly date: string
  readonly suite: string
  readonly declared: readonly string[]
  /** Conclusion; null if the run ended before its first check, with the reason in `trouble`. */
  readonly results: Pick<Results, 'conclusion' | 'counts' | 'inferences' | 'duration' | 'environment'> | null
  readonly trouble: string | null
  /** Verdicts of the profile `observable`, followed by verdicts on rows that only a client's profile has. */
  readonly verdicts: readonly Pick<Verdict, 'id' | 'slug' | 'level' | 'outcome' | 'reason'>[]
  /** Requirements that were asked in a later run alone -> its date. */
  readonly later?: Readonly<Record<string, string>>
  /** Results of the runs for clients with a served dialect; absent in earlier runs. */
  readonly profiles?: Readonly<Record<string, ProfileResult>>
}

interface ProfileResult extends Pick<Results, 'conclusion' | 'counts' | 'duration'> {
  readonly date: string
  /** Ids of the requirements that did not hold. */
  readonly wrong: readonly string[]
}

const notesSchema = z.record(
  z.string(),
  z.strictObject({
    about: z.string().describe('How it was run, where that matters to a reader.'),
    looked_at: z.record(z.string(), z.string()).describe('Requirement id -> what the transcript shows.'),
    changed: z
      .record(z.string(), z.string())
      .default({})
      .describe('Requirement id -> why its verdict is not that of the run before.'),
    taken_back: z
      .record(z.string(), z.string())
      .default({})
      .describe('Requirement id -> what this suite said wrongly of it, and what was changed in the suite.'),
    bugs: z
      .array(
        z.strictObject({
          what: z.string().describe('What happens, and what was expected.'),
          reproduce: z.string().describe('One command that shows it.'),
          searched: z.string().describe('How the issues of the project were searched, and what they have.'),
        }),
      )
      .default([])
      .describe('Bugs that its project did not list.'),
  }),
)
export const readNotes = (): z.output<typeof notesSchema> =>
  notesSchema.parse(parse(readFileSync(join(board, 'notes.yaml'), 'utf8')))

const absentSchema = z.array(
  z.strictObject({
    name: z.string().describe('Its name, or those of several with the same reason.'),
    homepage: z.string(),
    why: z.string().describe('What was tried, and what came of it.'),
  }),
)
/** Returns gateways that were planned but are missing. */
export const readAbsent = (): z.output<typeof absentSchema> =>
  absentSchema.parse(parse(readFileSync(join(board, 'absent.yaml'), 'utf8')))

export const readOutcomes = (): StoredRun[] =>
  readdirSync(board)
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(join(board, file), 'utf8')) as StoredRun)
    .sort((a, b) => a.title.localeCompare(b.title, 'en'))

/** Files of a run. */
interface Run {
  /** Directory with a report for each profile. */
  readonly reports: string
  /** Output of a run without files. */
  readonly trouble: string
  /** Private path of the installation, which occurs in some gateways' answers. */
  readonly scratch: string
}

/**
 * Stores the result of a run; `file` is the path. A run that ended before its first check shows nothing about
 * the gateway, so it does not replace an earlier result; the function then returns false.
 */
export function keepOutcome(
  name: string,
  { reports, trouble, scratch }: Run,
  file = join(board, `${name}.json`),
): boolean {
  const placeless = withoutPath(scratch)
  const { name: title, version = '', homepage = '' } = readTarget(targetFile(name))
  const known = { name, title, version, homepage }
  const write = (outcome: StoredRun): void =>
    writeFileSync(file, placeless(`${JSON.stringify(outcome, null, 2)}\n`))
  if (!hasResults(join(reports, BOARD_PROFILE))) {
    if (existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).results !== null) return false
    const date = new Date().toISOString().slice(0, 10)
    write({
      ...known,
      date,
      suite: '',
      declared: [],
      results: null,
      trouble: firstLine(trouble),
      verdicts: [],
    })
    return true
  }
  const kept = rejudge(join(reports, BOARD_PROFILE))
  const { suite, target } = kept.run
  const { conclusion, counts, inferences, duration, environment } = kept.results
  write({
    ...known,
    date: kept.results.started_at.slice(0, 10),
    suite,
    declared: CAPABILITIES.filter((capability) => declares(target, capability)),
    results: { conclusion, counts, inferences, duration, environment },
    trouble: null,
    verdicts: kept.results.verdicts.map(shortVerdict),
  })
  keepProofs(name, kept, placeless)
  keepClients(name, { reports, scratch }, file)
  return true
}

/**
 * Adds the results of the clients' profiles to an earlier result: missing verdicts, and failures of
 * requirements that held before.
 */
export function keepClients(
  name: string,
  { reports, scratch }: Pick<Run, 'reports' | 'scratch'>,
  file = join(board, `${name}.json`),
): void {
  const placeless = withoutPath(scratch)
  for (const profile of CLIENT_PROFILES.filter((each) => hasResults(join(reports, each)))) {
    const stored = JSON.parse(readFileSync(file, 'utf8')) as StoredRun
    const kept = rejudge(join(reports, profile))
    const before = new Map(stored.verdicts.map(({ id, outcome }) => [id, outcome]))
    const fresh = kept.results.verdicts.filter(({ id, scope, outcome }) => {
      const was = before.get(id) ?? 'none'
      return scope === 'named profiles' || was === 'none' || (NOTED.includes(outcome) && !NOTED.includes(was))
    })
    const ids = new Set(fresh.map(({ id }) => id))
    const outcome: StoredRun = {
      ...stored,
      verdicts: [...stored.verdicts.filter(({ id }) => !ids.has(id)), ...fresh.map(shortVerdict)],
      profiles: { ...stored.profiles, [profile]: profileResult(kept.results) },
    }
    writeFileSync(file, placeless(`${JSON.stringify(outcome, null, 2)}\n`))
    keepProofs(name, { ...kept, results: { ...kept.results, verdicts: fresh } }, placeless, true)
  }
}

/** Replaces the verdicts on some requirements in an earlier result. Returns false if there is no new result. */
export function keepOnly(
  name: string,
  ids: readonly string[],
  { reports, scratch }: Pick<Run, 'reports' | 'scratch'>,
  file = join(board, `${name}.json`),
): boolean {
  const report = join(reports, BOARD_PROFILE)
  if (!hasResults(report)) return false
  const placeless = withoutPath(scratch)
  const stored = JSON.parse(readFileSync(file, 'utf8')) as StoredRun
  const kept = rejudge(report)
  const fresh = kept.results.verdicts.filter(({ id }) => ids.includes(id))
  const date = kept.results.started_at.slice(0, 10)
  const outcome: StoredRun = {
    ...stored,
    verdicts: [...stored.verdicts.filter(({ id }) => !ids.includes(id)), ...fresh.map(shortVerdict)],
    later: { ...stored.later, ...Object.fromEntries(fresh.map(({ id }) => [id, date])) },
  }
  writeFileSync(file, placeless(`${JSON.stringify(outcome, null, 2)}\n`))
  keepProofs(name, { ...kept, results: { ...kept.results, verdicts: fresh } }, placeless, true)
  return true
}

const shortVerdict = ({ id, slug, level, outcome, reason }: Verdict): StoredRun['verdicts'][number] => ({
  ...{ id, slug, level, outcome, reason },
})

const hasResults = (report: string): boolean => existsSync(join(report, 'results.json'))

const profileResult = ({ started_at, conclusion, counts, duration, verdicts }: Results): ProfileResult => ({
  date: started_at.slice(0, 10),
  conclusion,
  counts,
  duration,
  wrong: verdicts.filter(({ outcome }) => NOTED.includes(outcome)).map(({ id }) => id),
})

/** Removes a path from JSON, even if a text was cut in the middle of it. */
export function withoutPath(path: string): (json: string) => string {
  const ends = ['"', ' …']
  const starts = Array.from({ length: path.length - 1 }, (_, n) => path.slice(0, path.length - 1 - n)).filter(
    (start) => start.length > 4,
  )
  const cut = starts.flatMap((start) => ends.map((end) => [start + end, `…${end}`] as const))
  return (json) => cut.reduce((text, [from, to]) => text.replaceAll(from, to), json.replaceAll(path, '…'))
}

export const targetFile = (name: string): string =>
  fileURLToPath(new URL(`../../conformance/targets/${name}.yaml`, import.meta.url))
const firstLine = (text: string): string => text.trim().split('\n')[0]!.slice(0, 280)

/** Meaning of a cell without a sign. */
export const EMPTY_CELL =
  'An empty cell was not tested in that run: the gateway does not serve the dialect, or the suite that made the column did not have this check yet.'

/** Returns the page. Pure. */
export function scoreboardPage(
  outcomes: readonly StoredRun[],
  notes: z.output<typeof notesSchema>,
  absent: ReturnType<typeof readAbsent> = [],
): string {
  const ids = outcomes.flatMap(({ verdicts }) => verdicts.map(({ id }) => id))
  const rows = [...new Set(ids)]
  const verdictOf = ({ verdicts }: StoredRun, id: string) => verdicts.find((verdict) => verdict.id === id)
  const run = outcomes.filter(({ results }) => results !== null)
  return [
    '# What other gateways do',
    '',
    'Gateways that other people wrote, each tested against the requirements of [the contract](../contract.md) that apply to every gateway (profile `observable`), with the target file that ships with the suite. [The same as one page](/files/scoreboard.html) has a filter and excerpts of the evidence. How a run works is in [the conformance guide](../conformance.md).',
    '',
    'How to read it:',
    '',
    '- It is no ranking. The requirements are what we think a router owes its users; these projects set out to do other things as well, and some requirements they never promised. A column with many `–` has been asked less, not answered better.',
    `- \`✓\` holds. \`✗\` does not hold (MUST). \`!\` does not hold (SHOULD). \`–\` not applicable: the target file declares nothing that could be tested, because the documentation of the gateway promises nothing there. It says nothing, neither good nor bad. ${EMPTY_CELL} The levels are those of today. A draft is a requirement of the next set, and does not count.`,
    '- Each ran on loopback, on one busy machine, against mock providers, not against real ones. None was sealed: calls to other destinations than the mock would not have been seen.',
    '- Each thing that did not hold was looked at in the transcript before it was published, and the sentence below says what is there. What is behind each verdict, cut to the exchanges in question, is in `docs/scoreboard/evidence/NAME.jsonl.gz`, a line for each requirement: `zcat NAME.jsonl.gz | jq \'select(.id == "FAIL-02")\'`. Is it our mistake, or repaired meanwhile? Open an issue; a wrong accusation is the worst bug that this page can have.',
    '',
    `| | ${run.map(({ title }) => title).join(' | ')} |`,
    `|---|${run.map(() => '---').join('|')}|`,
    `| version | ${run.map(({ version }) => version).join(' | ')} |`,
    `| date | ${run.map(({ date }) => date).join(' | ')} |`,
    `| suite | ${run.map(({ suite }) => suite).join(' | ')} |`,
    ...rows.map((id) => {
      const { slug } = run.map((outcome) => verdictOf(outcome, id)).find(Boolean)!
      return `| ${id} ${slug}${isDraft(id) ? ' (draft)' : ''} | ${run.map((outcome) => SIGNS[verdictOf(outcome, id)?.outcome ?? ''] ?? '').join(' | ')} |`
    }),
    '',
    ...outcomes.flatMap((outcome) => section(outcome, notes[outcome.name])),
    ...(absent.length > 0
      ? ['## Not here', '', 'These were to be tried too. It says nothing about them.', '']
      : []),
    ...absent.map(({ name, homepage, why }) => `- **${name}** (${homepage}): ${why.trim()}`),
    ...(absent.length > 0 ? [''] : []),
  ].join('\n')
}

export const SIGNS: Readonly<Record<string, string>> = {
  pass: '✓',
  fail: '✗',
  untestable: '✗ untestable',
  warn: '!',
  'not-applicable': '–',
  disabled: '',
  'harness-error': 'ours',
}

function section(outcome: StoredRun, note: z.output<typeof notesSchema>[string] | undefined): string[] {
  const { title, version, homepage, date, declared, results, trouble, verdicts } = outcome
  const head = [`## ${title} ${version}`, '', `${homepage}, ${date}. ${note?.about ?? ''}`.trim(), '']
  if (!results) return [...head, `The run ended before its first check: ${trouble}`, '']
  const { counts, inferences, environment } = results
  const said = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
  const noted = verdicts.filter((verdict) => NOTED.includes(verdict.outcome))
  return [
    ...head,
    `Declared: ${declared.join(', ')}. Result: ${results.conclusion}; ${said.join(', ')}; ${inferences.total} inferences; Node ${environment.node}, ${environment.platform}.`,
    '',
    ...profileLines(outcome),
    ...noted.map(
      ({ id, slug, level, outcome: what }) =>
        `- **${id}** ${slug} (${level}, ${what}${isDraft(id) ? ', draft' : ''}): ${note?.looked_at[id] ?? '*not looked at yet, not to be quoted*'}`,
    ),
    ...(noted.length > 0 ? [''] : []),
    ...told('Verdicts that are not those of the run before', note?.changed),
    ...told('Taken back: what an earlier version of the suite said wrongly', note?.taken_back),
    ...(note?.bugs ?? []).flatMap(({ what, reproduce, searched }) => [
      `A bug that the project does not list: ${what.trim()} ${searched.trim()}`,
      '',
      '```sh not-run="installs the gateway"',
      reproduce.trim(),
      '```',
      '',
    ]),
  ]
}

/** Returns a sentence for each client's profile; nothing without one. */
export const clientSentences = ({ profiles = {} }: StoredRun): string[] =>
  Object.entries(profiles).map(([profile, { date, conclusion, counts, wrong }]) => {
    const tried = counts.pass + wrong.length
    return `Profile ${profile}, ${date}: ${conclusion}; ${counts.pass} of ${tried} requirements hold${wrong.length > 0 ? `, not ${wrong.join(', ')}` : ''}.`
  })

/** Returns a sentence for the requirements that were asked in a later run alone; nothing without one. */
export function laterSentences({ later = {} }: StoredRun): string[] {
  const ids = Object.keys(later)
  return [...new Set(Object.values(later))]
    .sort()
    .map((date) => `Asked in a run of ${date}: ${ids.filter((id) => later[id] === date).join(', ')}.`)
}

/** True for a requirement that no frozen set has yet. */
export const isDraft = (id: string): boolean => drafts.has(withoutDialect(id))
const drafts = new Set(
  readRequirements()
    .requirements.filter(({ since }) => since === undefined)
    .map(({ id }) => id),
)

const profileLines = (outcome: StoredRun): string[] =>
  [...clientSentences(outcome), ...laterSentences(outcome)].flatMap((sentence) => [sentence, ''])

/** Returns sentences by requirement under a headline; nothing if there are none. */
const told = (headline: string, sentences: Readonly<Record<string, string>> = {}): string[] => {
  const lines = Object.entries(sentences).map(([id, sentence]) => `- **${id}** ${sentence.trim()}`)
  return lines.length === 0 ? [] : [`${headline}:`, '', ...lines, '']
}
