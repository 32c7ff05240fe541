// `npm run selftest -- must-fail`: checks that every finding of the conformance suite can fail, and that the
// checks catch every must-fail gateway. Runs all gateways, several at a time, repeats the survivors alone,
// and writes docs/selftest/must-fail.json. NAME… runs only these gateways and writes nothing, or with
// --update their lines of the file. --check runs all and writes nothing; --sample N runs N of them (see
// results.ts) and writes nothing; --cross runs all checks against each. Exit code 1 if a gateway survived or a
// finding never failed.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  PROFILES,
  readRequirements,
  requirementsFor,
  withoutDialect,
} from '../../conformance/checks/requirements.ts'
import { fileOf, mustFail } from '../../conformance/selftest/registry.ts'
import { type MustFailResult, requirementOf, tryMustFail } from '../../conformance/selftest/run.ts'
import { GUARDS, type MustFailResults, readMustFail, type Sample, sample, writeMustFail } from './results.ts'

/** Number of concurrent gateways. They mostly wait for windows, cool-downs and gates. */
const AT_ONCE = 6
const CHECKS = join(import.meta.dirname, '../../conformance/checks')
let sources: [file: string, text: string][] | undefined
const { values, positionals } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    cross: { type: 'boolean', default: false },
    sample: { type: 'string' },
    update: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !mustFail.has(name))
if (unknown.length > 0) {
  process.stderr.write(
    `selftest: there is no must-fail gateway ${unknown.join(', ')} in conformance/selftest/must-fail/\n`,
  )
  process.exit(2)
}

const began = performance.now()
const today = new Date().toISOString().slice(0, 10)
const drawn = values.sample === undefined ? null : sampled(Number(values.sample))
if (drawn) process.stdout.write(`${drawn.about}\n`)
const whole = positionals.length === 0 && !drawn
const named = positionals.length > 0 ? positionals : drawn?.names
const inCompany = await runAll(named ?? [...mustFail.keys()], values.cross, AT_ONCE)
// Concurrent gateways slow each other down. Only the result of a run alone counts.
const survivors = inCompany.filter(({ survived }) => survived.size > 0).map(({ name }) => name)
const alone = await runAll(survivors, values.cross, 1)
const tried = inCompany.map((each) => alone.find(({ name }) => name === each.name) ?? each)
const seconds = (performance.now() - began) / 1000
const alive = tried.filter(({ survived }) => survived.size > 0)
const never = whole ? neverFalse(tried) : []

if (whole && !values.check) {
  const again_alone = survivors.length
  const whole_run = { date: today, seconds: Math.round(seconds), at_once: AT_ONCE, again_alone }
  writeMustFail({ whole_run, gateways: linesOf(tried) })
} else if (values.update) {
  const { whole_run, gateways } = readMustFail()
  const there = Object.entries({ ...gateways, ...linesOf(tried) }).filter(([name]) => mustFail.has(name))
  writeMustFail({ whole_run, gateways: Object.fromEntries(there) })
}
for (const id of never)
  process.stderr.write(
    `${id} was never made false: write a must-fail gateway that it catches, or remove it\n`,
  )
process.stdout.write(
  `${tried.length} must-fail gateways in ${seconds.toFixed(0)} s; survived: ${alive.map(({ name }) => name).join(', ') || 'none'}; findings that nothing made false: ${never.length}\n`,
)
process.exit(alive.length + never.length > 0 ? 1 : 0)

/** Samples gateways, beginning with those that have a changed table or check. */
function sampled(size: number): Sample {
  return sample([...mustFail.keys()], size, (name, changed) => {
    const ids = mustFail.get(name)!.caughtBy.map((id) => withoutDialect(requirementOf(id)))
    return [fileOf(name), ...ids.flatMap(filesWith)].some((file) => changed.has(`conformance/${file}`))
  })
}

/** Returns the files of checks that name a check. */
function filesWith(id: string): string[] {
  sources ??= readdirSync(CHECKS, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|yaml)$/.test(file))
    .map((file) => [`checks/${file}`, readFileSync(join(CHECKS, file), 'utf8')])
  return sources.filter(([, text]) => text.includes(id)).map(([file]) => file)
}

async function runAll(names: readonly string[], cross: boolean, atOnce: number): Promise<MustFailResult[]> {
  const queue = [...names]
  const done: MustFailResult[] = []
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        const result = await tryMustFail(name, { cross })
        done.push(result)
        process.stdout.write(`${line(result, `${done.length}/${names.length}`)}\n`)
      }
    }),
  )
  return done.sort((a, b) => a.name.localeCompare(b.name))
}

function line({ name, caught, survived, duration }: MustFailResult, count: string): string {
  const took = `${(duration / 1000).toFixed(1)} s`
  const by = [...caught].map(([id, what]) => `${id}: ${plain(what)}`)
  if (survived.size === 0) return `${count} caught   ${name} (${took}) by ${by.join('; ')}`
  const why = [...survived].map(([id, what]) => `${id}: ${what}`)
  return `${count} SURVIVED ${name} (${took}) ${why.join('; ')}${by.length > 0 ? `; caught by ${[...caught.keys()].join(', ')} only` : ''}`
}

/** Returns checks without a must-fail gateway, and findings that were judged but never failed. */
function neverFalse(all: readonly MustFailResult[]): string[] {
  // A finding counts once, even if it failed in several dialects.
  const caught = new Set(all.flatMap((result) => [...result.caught.keys()].map(withoutDialect)))
  const judged = new Set(all.flatMap((result) => [...result.judged].map(withoutDialect)))
  const known = new Set([...judged].map(requirementOf))
  const profiled = PROFILES.flatMap((name) =>
    requirementsFor(readRequirements(), name).map(({ id }) => withoutDialect(id)),
  )
  const unjudged = [...new Set(profiled)].filter((id) => !known.has(id))
  const never = [...judged].filter((id) => !caught.has(id) && GUARDS[id] === undefined)
  return [...unjudged, ...never].sort()
}

function linesOf(results: readonly MustFailResult[]): MustFailResults['gateways'] {
  const texts = (findings: ReadonlyMap<string, string>) =>
    Object.fromEntries([...findings].map(([id, text]) => [id, plain(text)]))
  return Object.fromEntries(
    results.map(({ name, caught, survived }) => [
      name,
      { date: today, caught: texts(caught), survived: texts(survived) },
    ]),
  )
}

/** Removes text that differs from run to run. */
function plain(text: string): string {
  return text
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{21,22}\b/g, '…')
    .replace(/\b[0-9a-f]{16,}\b/g, '…')
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd')
    .slice(0, 160)
}
