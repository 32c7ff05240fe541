// MSG-09: The usage on record combines the first event of a stream with the last events, and counts nothing twice.
// Output that only the first event reports counts as unreported.

import { step } from '../evidence/step.ts'
import type { Check } from '../runner/check.ts'
import { message } from './messages.ts'
import { recordAfter, tokensOnRecord } from './use.ts'

const call = step<{ last: keyof typeof LAST }>('stream')

const FIRST = { input_tokens: 10, cache_read_input_tokens: 40, output_tokens: 1 }
/** Usage in the last event, and the expected record. */
const LAST = {
  'tells the output': { usage: { output_tokens: 7 }, output: 7 },
  'tells all again': { usage: { ...FIRST, output_tokens: 7 }, output: 7 },
  'tells nothing': { usage: undefined, output: null },
} as const

const event = (type: string, more: object) => ({
  raw: `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`,
})

const stream = (usage: object | undefined) => [
  event('message_start', { message: message({ content: [], stop_reason: null, usage: FIRST }) }),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'said' } }),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }),
  event('message_stop', {}),
]

export const usageIsMerged = {
  id: 'MSG-09',
  needs: ['messages', 'record'],
  dialect: 'messages',
  relays: true,
  async exercise(session) {
    for (const last of Object.keys(LAST) as (keyof typeof LAST)[])
      await recordAfter(session, call.with({ last }), {
        stream: true,
        script: [{ events: stream(LAST[last].usage) }],
      })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) =>
      tokensOnRecord('usage-is-merged', evidence, exchange, {
        ...{ input: 50, cached_input: 40 },
        output: LAST[exchange.details.last].output,
      }),
    ),
} satisfies Check
