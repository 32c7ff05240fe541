// `npm run kill-matrix`: does every finding of the conformance suite catch something, and is every fault caught by the
// check that is meant to catch it? Runs all faults, some at a time, and those that survived once more alone; writes docs/kill-matrix.md.
// NAME… runs only these and writes nothing, or with --update their rows of the document; --check runs all and writes
// nothing; --cross holds each against all checks.
// Exit 1 when something survived, or a finding of a check was never made false.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checks } from '../conformance/checks.ts'
import { type FaultResult, requirementOf, tryFault } from '../conformance/fault-run.ts'
import { faults, fileOf } from '../conformance/faults.ts'
import { withoutSurface } from '../conformance/on-surfaces.ts'
import { asked, readRequirements } from '../conformance/requirements.ts'

/** They mostly wait: for windows, cool-downs and gates. */
const AT_ONCE = 6
/** Findings that no gateway can make false, each with the reason why it is there. */
const GUARDS: Readonly<Record<string, string>> = {
  'FAIL-06/hostile-requests-were-made': 'counts what the suite itself did',
  'PURE-08/calls-reach-the-witness': 'a run whose calls do not arrive ends earlier (SUITE-01)',
}
const DOCUMENT = join(import.meta.dirname, '../docs/kill-matrix.md')

const { values, positionals } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    cross: { type: 'boolean', default: false },
    update: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !faults.has(name))
if (unknown.length > 0) {
  process.stderr.write(`kill-matrix: there is no fault ${unknown.join(', ')} in conformance/faults/\n`)
  process.exit(2)
}

const began = performance.now()
const whole = positionals.length === 0
const inCompany = await runAll(whole ? [...faults.keys()] : positionals, values.cross, AT_ONCE)
// Several at a time take each other's time. What counts is whether a fault is caught when it is tried alone.
const survivors = inCompany.filter(({ survived }) => survived.size > 0).map(({ name }) => name)
const alone = await runAll(survivors, values.cross, 1)
const tried = inCompany.map((each) => alone.find(({ name }) => name === each.name) ?? each)
const seconds = (performance.now() - began) / 1000
const alive = tried.filter(({ survived }) => survived.size > 0)
const never = whole ? neverFalse(tried) : []

const took = `${seconds.toFixed(0)} s, ${AT_ONCE} at a time, ${survivors.length} again alone`
if (whole && !values.check) writeFileSync(DOCUMENT, document(killsOf(tried), took))
else if (values.update) {
  const { kills, how } = earlier(new Set(positionals))
  const now = `${tried.length} tried in ${took}; the others before, ${how}`
  writeFileSync(DOCUMENT, document([...kills, ...killsOf(tried)], now))
}
for (const id of never)
  process.stderr.write(`${id} was never made false: write a fault that it catches, or remove it\n`)
process.stdout.write(
  `${tried.length} faults in ${seconds.toFixed(0)} s; survived: ${alive.map(({ name }) => name).join(', ') || 'none'}; findings that nothing made false: ${never.length}\n`,
)
process.exit(alive.length + never.length > 0 ? 1 : 0)

async function runAll(names: readonly string[], cross: boolean, atOnce: number): Promise<FaultResult[]> {
  const queue = [...names]
  const done: FaultResult[] = []
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        const result = await tryFault(name, { cross })
        done.push(result)
        process.stdout.write(`${line(result, `${done.length}/${names.length}`)}\n`)
      }
    }),
  )
  return done.sort((a, b) => a.name.localeCompare(b.name))
}

function line({ name, caught, survived, duration }: FaultResult, count: string): string {
  const took = `${(duration / 1000).toFixed(1)} s`
  const by = [...caught].map(([id, what]) => `${id}: ${plain(what)}`)
  if (survived.size === 0) return `${count} caught   ${name} (${took}) by ${by.join('; ')}`
  const why = [...survived].map(([id, what]) => `${id}: ${what}`)
  return `${count} SURVIVED ${name} (${took}) ${why.join('; ')}${by.length > 0 ? `; caught by ${[...caught.keys()].join(', ')} only` : ''}`
}

/** Checks that no fault is meant for, and findings that were judged and that no fault made false. */
function neverFalse(all: readonly FaultResult[]): string[] {
  // A finding is one, on whichever surface it was made false.
  const caught = new Set(all.flatMap((result) => [...result.caught.keys()].map(withoutSurface)))
  const judged = new Set(all.flatMap((result) => [...result.judged].map(withoutSurface)))
  const known = new Set([...judged].map(requirementOf))
  const unjudged = asked(readRequirements(), 'waybill').filter(({ id }) => !known.has(id))
  const never = [...judged].filter((id) => !caught.has(id) && GUARDS[id] === undefined)
  return [...unjudged.map(({ id }) => id), ...never].sort()
}

/** One finding that one fault made false, as the document says it. */
interface Kill {
  readonly finding: string
  readonly name: string
  readonly what: string
}

function killsOf(all: readonly FaultResult[]): Kill[] {
  return all.flatMap(({ name, caught }) =>
    [...caught].map(([finding, what]) => ({ finding, name, what: cell(what) })),
  )
}

/** What the document says of all but these, and how that was found. */
function earlier(but: ReadonlySet<string>): { kills: Kill[]; how: string } {
  const text = readFileSync(DOCUMENT, 'utf8')
  let finding = ''
  const kills = [...text.matchAll(/^\| (\S*) +\| \[([\w-]+)\]\(\S+\) \| (.*) \|$/gm)].map((row) => {
    finding = row[1] || finding
    return { finding, name: row[2]!, what: row[3]! }
  })
  const how = / survivors; (.*)\.$/m.exec(text)?.[1] ?? 'in no known way'
  return { kills: kills.filter(({ name }) => faults.has(name) && !but.has(name)), how }
}

function document(kills: readonly Kill[], how: string): string {
  const order = ({ finding, name }: Kill) => `${finding} ${name}`
  const sorted = kills.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
  const findings = new Set(kills.map(({ finding }) => finding))
  const rows = sorted.map(({ finding, name, what }, index) => {
    const first = sorted[index - 1]?.finding !== finding
    return `| ${first ? finding : ''} | [${name}](../conformance/${fileOf(name)}) | ${what} |`
  })
  const all = [...faults].toSorted(([a], [b]) => a.localeCompare(b))
  const wrong = all.map(
    ([name, { what, caughtBy }]) => `| ${name} | ${cell(what)} | ${caughtBy.join(', ')} |`,
  )
  const known = new Set(kills.map(({ name }) => name))
  const left = new Set([
    ...alive.map(({ name }) => name),
    ...[...faults.keys()].filter((name) => !known.has(name)),
  ])
  return [
    '# Kill matrix',
    '',
    'This tests the checks themselves. Each fault is one error built into the reference gateway. It must be caught by the',
    'check that is meant to catch it, and each finding of each check must have been made false by at least one fault.',
    '',
    `Generated by \`npm run kill-matrix\` on ${new Date().toISOString().slice(0, 10)}: ${all.length} faults, ${[...checks.keys()].filter((id) => withoutSurface(id) === id).length} checks, ${findings.size} findings made false, ${rows.length} kills, ${left.size} survivors; ${how}.`,
    '',
    '## What each finding catches',
    '',
    '| finding | fault | what it said |',
    '|---|---|---|',
    ...rows,
    '',
    '## Findings that no fault can make false',
    '',
    ...Object.entries(GUARDS).map(([id, why]) => `- ${id}: ${why}`),
    '',
    ...(never.length > 0
      ? ['## Findings that no fault made false', '', ...never.map((id) => `- ${id}`), '']
      : []),
    '## The faults',
    '',
    '| fault | what is wrong with it | meant for |',
    '|---|---|---|',
    ...wrong,
    '',
  ].join('\n')
}

/** Without what differs from run to run. */
function plain(text: string): string {
  return text
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{21,22}\b/g, '…')
    .replace(/\b[0-9a-f]{16,}\b/g, '…')
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd')
    .slice(0, 160)
}

function cell(text: string): string {
  return plain(text).replace(/[|<>`*_]/g, (sign) => `\\${sign}`)
}
