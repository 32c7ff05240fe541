// Prices as lines for people, with units and without JSON.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ratesOf } from '../format.ts'

test('a price with tiers, counts, hours and images is described in words and amounts', () => {
  const rates = ratesOf({
    input_mtok: { base: 2.5, tiers: [{ start: 271_999, price: 5 }] },
    cache_read_mtok: 0.025,
    web_searches_kcount: 10,
    audio_hours: 0.36,
    input_document_kpages: 3,
    image: 0.04,
    output_mtok: undefined,
  })
  assert.deepEqual(
    rates.map(({ kind, text }) => `${kind}: ${text}`),
    [
      'input: $2.50 per million tokens; $5.00 if the input is longer than 271,999 tokens',
      'cache read: $0.025 per million tokens',
      'web searches: $10.00 per thousand',
      'audio: $0.36 per hour',
      'input document: $3.00 per thousand pages',
      'image: $0.04 per picture',
    ],
  )
})
