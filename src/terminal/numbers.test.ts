// Formatted amounts of money. The page, the status line, the commands and the log show the same text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dollars } from './numbers.ts'

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
    assert.equal(dollars(usd, true), `≥ ${text.replace(/^<.*/, '$0')}`)
  })
