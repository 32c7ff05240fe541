// docs/scoreboard.md and what it is written from: one small file for each gateway, trimmed evidence for whatever did not
// hold, and notes.yaml, where stands what the transcripts show. Runs nothing.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'
import { type Evidence, evidenceSchema } from '../conformance/evidence.ts'
import type { Results, Verdict } from '../conformance/judge.ts'
import { runSchema } from '../conformance/judge.ts'
import { readTarget } from '../conformance/read-target.ts'
import { CAPABILITIES, declares } from '../conformance/target.ts'

const docs = fileURLToPath(new URL('../docs/', import.meta.url))
const board = join(docs, 'scoreboard')
const NOTED = ['fail', 'warn', 'untestable', 'harness-error']

/** What is kept of a run. */
export interface Outcome {
  readonly name: string
  readonly title: string
  readonly version: string
  readonly homepage: string
  readonly date: string
  readonly suite: string
  readonly declared: readonly string[]
  /** Null where the run ended before its first check; then `trouble` says why. */
  readonly results: Pick<Results, 'conclusion' | 'counts' | 'inferences' | 'duration' | 'environment'> | null
  readonly trouble: string | null
  readonly verdicts: readonly Pick<Verdict, 'id' | 'slug' | 'level' | 'outcome' | 'reason'>[]
}

const notesSchema = z.record(
  z.string(),
  z.strictObject({
    about: z.string().describe('How it was run, where that matters to a reader.'),
    looked_at: z.record(z.string(), z.string()).describe('Requirement id -> what the transcript shows.'),
  }),
)
export const readNotes = (): z.output<typeof notesSchema> =>
  notesSchema.parse(parse(readFileSync(join(board, 'notes.yaml'), 'utf8')))

export const readOutcomes = (): Outcome[] =>
  readdirSync(board)
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(join(board, file), 'utf8')) as Outcome)
    .sort((a, b) => a.title.localeCompare(b.title, 'en'))

/** What a run left behind, and where. */
interface Run {
  readonly report: string
  /** What it said, for a run that left nothing. */
  readonly trouble: string
  /** Where the gateway is installed: some put that into their answers, and it is nobody's business. */
  readonly scratch: string
}

/** Keeps what a run left behind. */
export function keepOutcome(name: string, { report, trouble, scratch }: Run): void {
  const placeless = (text: string): string => text.replaceAll(scratch, '…')
  const read = (file: string): unknown => JSON.parse(placeless(readFileSync(join(report, file), 'utf8')))
  const { name: title, version = '', homepage = '' } = readTarget(targetFile(name))
  const known = { name, title, version, homepage }
  const evidence = join(board, 'evidence', name)
  rmSync(evidence, { recursive: true, force: true })
  if (!existsSync(join(report, 'results.json'))) {
    const date = new Date().toISOString().slice(0, 10)
    write({
      ...known,
      date,
      suite: '',
      declared: [],
      results: null,
      trouble: firstLine(placeless(trouble)),
      verdicts: [],
    })
    return
  }
  const results = read('results.json') as Results
  const { target, suite } = runSchema.parse(read('run.json'))
  const { conclusion, counts, inferences, duration, environment, verdicts } = results
  write({
    ...known,
    date: results.started_at.slice(0, 10),
    suite,
    declared: CAPABILITIES.filter((capability) => declares(target, capability)),
    results: { conclusion, counts, inferences, duration, environment },
    trouble: null,
    verdicts: verdicts.map(({ id, slug, level, outcome, reason }) => ({ id, slug, level, outcome, reason })),
  })
  mkdirSync(evidence, { recursive: true })
  for (const verdict of verdicts.filter(({ outcome }) => NOTED.includes(outcome))) {
    const file = [verdict.id, ...SHARED]
      .map((check) => join('evidence', `${check}.json`))
      .find((relative) => existsSync(join(report, relative)))
    const seen = file === undefined ? null : evidenceSchema.parse(read(file))
    writeFileSync(join(evidence, `${verdict.id}.json`), json(trimmed(seen, verdict)))
  }
}

const targetFile = (name: string): string =>
  fileURLToPath(new URL(`../conformance/targets/${name}.yaml`, import.meta.url))
const write = (outcome: Outcome): void => writeFileSync(join(board, `${outcome.name}.json`), json(outcome))
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
const firstLine = (text: string): string => text.trim().split('\n')[0]!.slice(0, 280)

/** Of a verdict: what was found wrong, and the exchanges and ledger entries that show it, long texts cut. */
function trimmed(evidence: Evidence | null, { id, outcome, findings }: Verdict) {
  if (!evidence) return { id, outcome, findings }
  const { exchanges, ledger } = evidence
  const wrong = findings.filter(({ ok }) => !ok).slice(0, 4)
  const seen = new Set(wrong.flatMap(({ see = [] }) => see))
  const found = {
    id,
    outcome,
    findings: wrong,
    exchanges: exchanges
      .filter(({ n }) => seen.has(`#${n}`))
      .map(({ chunks: _, utf8: __, ...exchange }) => exchange),
    ledger: ledger
      .filter(({ n }) => seen.has(`@${n}`))
      .slice(0, 8)
      .map(({ headers: _, ...entry }) => entry),
  }
  return JSON.parse(JSON.stringify(found, (_, value) => (typeof value === 'string' ? cut(value) : value)))
}
/** Checks whose evidence others judge. */
const SHARED = ['PURE-01']
const cut = (text: string): string =>
  text.length > 800 ? `${text.slice(0, 800)} … (${text.length} characters)` : text

/** The page. Pure. */
export function scoreboardPage(outcomes: readonly Outcome[], notes: z.output<typeof notesSchema>): string {
  const ids = outcomes.flatMap(({ verdicts }) => verdicts.map(({ id }) => id))
  const rows = [...new Set(ids)]
  const verdictOf = ({ verdicts }: Outcome, id: string) => verdicts.find((verdict) => verdict.id === id)
  const run = outcomes.filter(({ results }) => results !== null)
  return [
    '# What other gateways do',
    '',
    'Gateways that other people wrote, each held to the requirements of [the contract](contract.md) that bind every gateway (profile `observable`), with the target file that ships with the suite. Written by `npm run peers` and `npm run docs`; how a run works is in [conformance.md](conformance.md).',
    '',
    'How to read it:',
    '',
    '- It is no ranking. The requirements are what we think a router owes its users; these projects set out to do other things as well, and some requirements they never promised. A column with many `–` has been asked less, not answered better.',
    '- `✓` holds. `✗` does not hold (MUST). `!` does not hold (SHOULD). `–` not applicable: the target file declares nothing that could be tested, because the documentation of the gateway promises nothing there, or because it cannot be had without a further server. It says nothing, neither good nor bad.',
    '- Each ran on loopback, on one busy machine, against stand-in providers, not against real ones. None was sealed: calls to other destinations than the witness would not have been seen.',
    '- Each thing that did not hold was looked at in the transcript before it was published, and the sentence below says what is there. The evidence beside it is cut to the exchanges in question. Is it our mistake, or repaired meanwhile? Open an issue; a wrong accusation is the worst bug that this page can have.',
    '',
    `| | ${run.map(({ title }) => title).join(' | ')} |`,
    `|---|${run.map(() => '---').join('|')}|`,
    `| version | ${run.map(({ version }) => version).join(' | ')} |`,
    `| date | ${run.map(({ date }) => date).join(' | ')} |`,
    ...rows.map((id) => {
      const { slug } = run.map((outcome) => verdictOf(outcome, id)).find(Boolean)!
      return `| ${id} ${slug} | ${run.map((outcome) => SIGNS[verdictOf(outcome, id)?.outcome ?? ''] ?? '').join(' | ')} |`
    }),
    '',
    ...outcomes.flatMap((outcome) => section(outcome, notes[outcome.name])),
  ].join('\n')
}

const SIGNS: Readonly<Record<string, string>> = {
  pass: '✓',
  fail: '✗',
  untestable: '✗ untestable',
  warn: '!',
  'not-applicable': '–',
  disabled: '',
  'harness-error': 'ours',
}

function section(outcome: Outcome, note: z.output<typeof notesSchema>[string] | undefined): string[] {
  const { name, title, version, homepage, date, declared, results, trouble, verdicts } = outcome
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
    ...noted.map(
      ({ id, slug, level, outcome: what }) =>
        `- **${id}** ${slug} (${level}, ${what}): ${note?.looked_at[id] ?? '*not looked at yet, not to be quoted*'} [Evidence](scoreboard/evidence/${name}/${id}.json).`,
    ),
    ...(noted.length > 0 ? [''] : []),
  ]
}
