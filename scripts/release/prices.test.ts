// Tests the reported changes of a newer price table, and the rows carried over from a newer edition, with small
// made-up tables.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newerModels } from './newer-prices.ts'
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

test('a row is carried over if its model is new, or has another name or price, and if the installed edition can compute it', () => {
  const model = (id: string, prices: object, match: object = { equals: id }) =>
    ({ id, match, prices }) as never
  const table = (...models: never[]) => [{ id: 'alpha', models }]
  const installed = table(
    model('same', { input_mtok: 1 }),
    model('dearer', { input_mtok: 1 }),
    model('renamed', { input_mtok: 1 }),
    model('dated', [
      { constraint: { start_date: '2026-01-02', type: 'start_date' }, prices: { input_mtok: 1 } },
    ]),
  )
  const newer = table(
    model('same', { input_mtok: 1 }),
    model('dearer', { input_mtok: 2 }),
    model('renamed', { input_mtok: 1 }, { or: [{ equals: 'renamed' }, { equals: 'other' }] }),
    model('dated', [{ constraint: { start_date: '2026-01-02' }, prices: { input_mtok: 1 } }]),
    model('new', [{ constraint: null, prices: { input_mtok: 1 } }]),
    model('by-letter', { input_letters: 1 }),
  )
  const found = newerModels(installed, newer, new Set(['alpha']))
  assert.deepEqual(
    found.flatMap(({ models }) => models.map(({ id }) => id)),
    ['dearer', 'renamed', 'new'],
  )
  assert.deepEqual(found[0]?.models[2]?.prices, [{ prices: { input_mtok: 1 } }])
  assert.deepEqual(newerModels(installed, newer, new Set(['beta'])), [])
})
