// The price table states its own version, because the page shows the age of the table.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { clock } from '../shared/clock.ts'
import { packageFile } from '../shared/package-root.ts'
import { NEWER_PRICES, newerTables, PRICE_TABLE } from './pricing.ts'

test('the stated version and date of the price table match the installed table', () => {
  const main = createRequire(import.meta.url).resolve('@pydantic/genai-prices')
  const { version } = JSON.parse(
    readFileSync(`${main.slice(0, main.lastIndexOf('/dist/'))}/package.json`, 'utf8'),
  )
  assert.equal(
    PRICE_TABLE.version,
    version,
    'a new version needs its date: `npm view @pydantic/genai-prices time`',
  )
  assert.ok(Date.parse(PRICE_TABLE.date) < clock.now())
})

test('the stated version and date of the newer rows match their file, and the rows are newer than the installed table', () => {
  const [head = ''] = readFileSync(packageFile('src/pricing/newer-prices.jsonl'), 'utf8').split('\n')
  const { version, date } = JSON.parse(head)
  assert.deepEqual({ version, date }, NEWER_PRICES)
  assert.ok(date > PRICE_TABLE.date, 'delete the file if the installed table is newer')
  assert.ok(newerTables().size > 0)
})
