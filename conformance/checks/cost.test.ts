// Tests the table of usages: each row bills its reported tokens, and prices are applied as declared.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { USAGES, usdOf } from './cost.ts'

const rows = Object.values(USAGES).flat()

test('the cost table has at least 40 usages, each with a unique name', () => {
  assert.ok(rows.length >= 40, `${rows.length} rows`)
  assert.equal(new Set(rows.map(({ row }) => row)).size, rows.length)
})

test('each row of the cost table bills every reported token exactly once', () => {
  for (const { row, usage, bill } of rows) {
    if (!bill) continue
    const {
      input,
      cached = 0,
      written = 0,
      written_1h = 0,
      output,
      compaction,
    } = usage as Record<string, any>
    const { input: more = 0, output: answer = 0 } = compaction ?? {}
    assert.deepEqual(
      ['input', 'cached_input', 'cache_write', 'cache_write_1h', 'output'].map(
        (kind) => bill[kind as 'input'] ?? 0,
      ),
      [input - cached - written - written_1h + more, cached, written, written_1h, output + answer],
      row,
    )
  }
})

test('no row reports 0 tokens, because a gateway may treat 0 as a missing count', () => {
  for (const { row, usage } of rows) assert.ok(usage.input > 0 && usage.output > 0, row)
})

const PRICE = {
  ...{ input: 2, output: 10, cached_input: 0.2 },
  over: { tokens: 200_000, input: 4, output: 15 },
  service_tier: { flex: 0.5 },
  web_search: 0.01,
}
const named = (name: string) => rows.find(({ row }) => row === name)!

test('the cost is the sum of the billed tokens multiplied by their factors, or null if a price is missing', () => {
  for (const [name, usd] of [
    ['plain', 0.007],
    ['tier flex', 0.015],
    ['three searches', 0.085],
    ['a long input', 1.03],
    ['an input below the line', 0.418],
  ] as const)
    assert.ok(Math.abs(usdOf(named(name), PRICE)! - usd) < 1e-12, name)
  for (const name of ['tier priority', 'written', 'fast', 'a long input that is mostly cached'])
    assert.equal(usdOf(named(name), PRICE), null, name)
  assert.equal(usdOf(named('plain'), undefined), null)
})
