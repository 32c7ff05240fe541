// Formatted amounts of money. The page, the status line, the commands and the log show the same text.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { costText, dollars, type ShownCost } from './numbers.ts'

for (const [usd, text] of [
  [0, '$0'],
  [0.0000004, '<$0.000001'],
  [0.000001, '$0.000001'],
  [0.00009499999999999999, '$0.000095'],
  [0.000365, '$0.000365'],
  [0.0004, '$0.0004'],
  [0.00123456, '$0.00123'],
  [0.0123456, '$0.0123'],
  [0.05, '$0.05'],
  [0.1 + 0.2, '$0.30'],
  [0.123456, '$0.123'],
  [0.9994, '$0.999'],
  [0.9996, '$1.00'],
  [1.005, '$1.00'],
  [12.345678, '$12.35'],
  [999.4, '$999.40'],
  [999.6, '$1,000'],
  [1234567.8, '$1,234,568'],
] as const)
  test(`formats ${usd} US dollars as ${text}`, () => {
    assert.equal(dollars(usd), text)
    assert.equal(costText({ cost_usd: usd, cost_missing: ['usage'] }), `≥ ${text.replace(/^<.*/, '$0')}`)
  })

const ESTIMATED = { tokens: { source: 'estimated' } }
for (const [cost, text] of [
  [{ cost_usd: null }, '-'],
  [{ cost_usd: 0.02 }, '$0.02'],
  [{ cost_usd: 0.02, ...ESTIMATED }, '~$0.02'],
  [{ cost_usd: 0.02, tokens: { source: 'reported' } }, '$0.02'],
  [{ cost_usd: 0.02, reported_usd: 0.02, ...ESTIMATED }, '$0.02'],
  [{ cost_usd: 0.02, cost_missing: ['attempt'], ...ESTIMATED }, '≥ ~$0.02'],
  [{ cost_usd: 0.02, cost_is_minimum: true, cost_is_estimated: true }, '≥ ~$0.02'],
  [{ cost_usd: 0.02, cost_is_minimum: false, cost_is_estimated: true }, '~$0.02'],
  [{ cost_usd: 0, cost_is_estimated: true }, '$0'],
  [{ cost_usd: 0, cost_missing: ['price'] }, '≥ $0'],
] satisfies [ShownCost, string][])
  test(`shows the cost ${JSON.stringify(cost)} as ${text}`, () => {
    assert.equal(costText(cost), text)
  })

/** A text with an amount that another function than those of `numbers.ts` formats. */
const OWN_FORMAT =
  /`[^`]*(?<!\$)\$\$\{[^}]*\b(usd|cost|price|spent|limit|sum|amount|budget)|toFixed\(.*(usd|USD)/i
/** A cost that is shown without its marks. */
const UNMARKED = /\b(dollars|usd)\([^)]*\b(cost|spent)\w*\)/i

test('no other file formats US dollars, and no cost is shown without its marks', () => {
  const root = join(import.meta.dirname, '..')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.tsx?$/.test(file) && !/test/.test(file) && file !== join('terminal', 'numbers.ts'),
  )
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, at) =>
        OWN_FORMAT.test(line) || UNMARKED.test(line) ? [`${file}:${at + 1} ${line}`] : [],
      ),
  )
  assert.ok(files.length > 300)
  assert.deepEqual(found, [])
})
