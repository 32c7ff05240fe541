// MSG-07: The input on record is the sum of `input_tokens`, cache reads and cache writes. Cache reads and writes
// are also recorded separately. Unreported counts are null.

import { step } from '../evidence/step.ts'
import type { Check } from '../runner/check.ts'
import { message } from './messages.ts'
import { recordAfter, tokensOnRecord } from './use.ts'

const call = step<{ usage: keyof typeof REPORTED }>('call')

/** Usage reported by the provider, and the expected record. */
const REPORTED = {
  'with a cache': {
    usage: {
      ...{ input_tokens: 10, output_tokens: 5 },
      ...{ cache_read_input_tokens: 40, cache_creation_input_tokens: 30 },
    },
    tokens: { input: 80, cached_input: 40, cache_write: 30, output: 5 },
  },
  'without a cache': {
    usage: { input_tokens: 10, output_tokens: 5 },
    tokens: { input: 10, cached_input: null, cache_write: null, output: 5 },
  },
} as const

export const inputHoldsTheCache = {
  id: 'MSG-07',
  needs: ['messages', 'record'],
  dialect: 'messages',
  relays: true,
  async exercise(session) {
    for (const usage of Object.keys(REPORTED) as (keyof typeof REPORTED)[])
      await recordAfter(session, call.with({ usage }), {
        script: [{ body: message({ usage: REPORTED[usage].usage }) }],
      })
  },
  judge: ({ evidence }) =>
    call
      .in(evidence)
      .map((exchange) =>
        tokensOnRecord(
          'cache-is-input-and-apart',
          evidence,
          exchange,
          REPORTED[exchange.details.usage].tokens,
        ),
      ),
} satisfies Check
