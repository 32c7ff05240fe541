import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from '../config/load.ts'
import { NEWER_PRICES } from '../pricing/pricing.ts'
import { OLD_PRICES_DAYS, priceFindings } from './findings.ts'

test('the age of the built-in prices is reported, and old prices cause a note', () => {
  const text = 'providers: { a: { dialect: openai, base_url: http://127.0.0.1:1 } }\n'
  const { config } = parseConfig(text, 'w.yaml', { env: {} })
  const at = (days: number) => priceFindings(config, Date.parse(NEWER_PRICES.date) + days * 86_400_000)[0]!
  const [young, old] = [at(OLD_PRICES_DAYS), at(OLD_PRICES_DAYS + 1)]
  assert.deepEqual([young.verdict, old.verdict], ['ok', 'note'])
  assert.match(old.text, new RegExp(`^the built-in prices are ${OLD_PRICES_DAYS + 1} days old`))
})
