// A generated month of 100,000 calls against a report with planted differences. All of them are found, and no
// other differences are reported.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { idOf } from '../core/call.ts'
import { migrate } from '../store/sqlite/migrations.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { type BilledDay, reportServer } from './test-reports.ts'

const CALLS = 100_000
const BEGIN = Date.UTC(2026, 9, 1)
const DAYS = 31
/** Rates of input and output, US dollars per million tokens. */
const MODELS: readonly (readonly [model: string, input: number, output: number])[] = [
  ['claude-opus-5', 5, 25],
  ['claude-sonnet-5', 2, 10],
  ['claude-haiku-4-5', 1, 5],
]

/** Writes the calls and returns the provider's bill for them. */
function makeMonth(directory: string): BilledDay[] {
  const db = new Database(databaseFile(directory))
  db.pragma('journal_mode = WAL')
  migrate(db)
  const call =
    db.prepare(`INSERT INTO call_logs (id, created_at, completed_at, state, endpoint, requested_model,
    resolved_provider, resolved_model, picked_provider, picked_model, decision, stream, attempts, fallbacks, cache, replayed, cost_missing)
    VALUES (@id, @at, @at, 'completed', '/v1/messages', @model, 'anthropic', @model, 'anthropic', @model, '{}', 0, 1, 0, 'BYPASS', 0, '[]')`)
  const attempt =
    db.prepare(`INSERT INTO call_attempts (call_id, n, provider, model, started_at, ended_at, outcome,
    tokens_input, tokens_output, cost_usd) VALUES (@id, 1, 'anthropic', @model, @at, @at, 'answered', @input, @output, @usd)`)
  const billed = new Map<string, BilledDay>()
  db.transaction(() => {
    for (let n = 0; n < CALLS; n++) {
      const at = BEGIN + Math.floor((n / CALLS) * DAYS * 86_400_000)
      const [model, rateIn, rateOut] = MODELS[n % MODELS.length]!
      const [input, output] = [500 + (n % 977), 50 + (n % 89)]
      const usd = (input * rateIn + output * rateOut) / 1e6
      const row = { id: idOf(at), at, model, input, output, usd }
      call.run(row)
      attempt.run(row)
      const day = new Date(at).toISOString().slice(0, 10)
      const before = billed.get(day + model) ?? { day, model, usd: 0, input: 0, output: 0 }
      billed.set(day + model, {
        ...before,
        usd: before.usd + usd,
        input: before.input + input,
        output: before.output + output,
      })
    }
  })()
  db.close()
  return [...billed.values()]
}

test('exactly the planted differences are reported for a month of 100,000 calls', async (t) => {
  const directory = temporaryDirectory(t)
  const billed = makeMonth(directory)
  assert.equal(billed.length, DAYS * MODELS.length)
  const file = join(directory, 'waybill.yaml')
  writeFileSync(
    file,
    `data: ${directory}\nproviders: { anthropic: { dialect: messages, base_url: "http://127.0.0.1:9" } }\n`,
  )
  const compare = async (report: readonly BilledDay[]) => {
    const { url, asked } = await reportServer(t, report)
    const args = [
      'reconcile',
      'anthropic',
      '--config',
      file,
      '--since',
      '2026-10-01',
      '--until',
      '2026-11-01',
    ]
    const began = performance.now()
    const ended = await runCli([...args, '--base-url', url, '--json'], {
      env: { ANTHROPIC_ADMIN_KEY: 'key' },
    })
    t.diagnostic(`${Math.round(performance.now() - began)} ms, ${asked.length} pages`)
    assert.equal(ended.stderr, '')
    const { lines } = JSON.parse(ended.stdout)
    assert.ok(lines.length >= DAYS * MODELS.length)
    const named = lines.filter((line: any) => line.verdict !== 'equal')
    return {
      code: ended.code,
      named: named.map((line: any) => `${line.day} ${line.model} ${line.verdict}: ${line.likely}`),
    }
  }

  assert.deepEqual(await compare(billed), { code: 0, named: [] })

  const is = (line: BilledDay, day: string, model: string) => line.day === day && line.model === model
  const planted = billed
    .filter(({ day }) => day !== '2026-10-17') // a day is missing
    .map((line) =>
      is(line, '2026-10-12', 'claude-opus-5')
        ? { ...line, usd: line.usd + 0.9, input: line.input + 100_000, output: line.output + 16_000 }
        : line,
    )
    .map((line) => (is(line, '2026-10-23', 'claude-haiku-4-5') ? { ...line, usd: line.usd / 2 } : line))
  planted.push({ day: '2026-10-20', model: 'claude-fable-5', usd: 3, input: 100_000, output: 40_000 })
  assert.deepEqual(await compare(planted), {
    code: 1,
    named: [
      '2026-10-12 claude-opus-5 differs: calls past the gateway: the provider counted more tokens',
      ...MODELS.map(
        ([model]) =>
          `2026-10-17 ${model} only_here: the report has no such day: it is not complete yet, or a part of it is missing`,
      ).toSorted(),
      '2026-10-20 claude-fable-5 only_there: calls past the gateway: a leaked key, or a program with a key of its own',
      '2026-10-23 claude-haiku-4-5 differs: tier (flex or batch)',
    ],
  })
})
