// Tests the reported changes of a newer price table with two small made-up tables.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ComparedPrices, differences } from './prices.ts'

const before: ComparedPrices = [
  {
    id: 'alpha',
    models: [
      { id: 'same', prices: { input_mtok: 1, output_mtok: 2 } },
      { id: 'falls', prices: { input_mtok: 1, output_mtok: 8 } },
      { id: 'rises', prices: { input_mtok: 1, output_mtok: 2 } },
      { id: 'both', prices: { input_mtok: 1, output_mtok: 2 } },
      { id: 'left', prices: { input_mtok: 1 } },
      { id: 'by-day', prices: [{ prices: { input_mtok: 1 } }] },
    ],
  },
  { id: 'closed', models: [{ id: 'one', prices: {} }] },
]
const after: ComparedPrices = [
  {
    id: 'alpha',
    models: [
      { id: 'came', prices: { input_mtok: 1 } },
      { id: 'by-day', prices: [{ prices: { input_mtok: 2 } }] },
      { id: 'both', prices: { input_mtok: 2, output_mtok: 1, cache_read_mtok: 0.1 } },
      { id: 'rises', prices: { input_mtok: 1.5, output_mtok: 2 } },
      { id: 'falls', prices: { input_mtok: 0.5, output_mtok: 4 } },
      { id: 'same', prices: { output_mtok: 2, input_mtok: 1 } },
    ],
  },
  {
    id: 'fresh',
    models: [
      { id: 'one', prices: {} },
      { id: 'two', prices: {} },
    ],
  },
]

test('the report on a newer price table lists cheaper, dearer, changed, new and deleted prices by provider', () => {
  assert.deepEqual(differences(before, after), [
    '- alpha, cheaper: falls (input $1 → $0.5, output $8 → $4)',
    '- alpha, dearer: rises (input $1 → $1.5)',
    '- alpha, changed: both (input $1 → $2, output $2 → $1, read from a cache none → $0.1), by-day (its price depends on the time or a date)',
    '- alpha, new: came',
    '- alpha, gone: left',
    '- closed: gone, with 1 models',
    '- fresh: a new provider, 2 models',
  ])
  assert.deepEqual(differences(before, before), [])
})
