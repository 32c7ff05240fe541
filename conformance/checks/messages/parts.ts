// Parts that the checks of the Messages dialect share: a stream's raw events, its blocks, and a provider's
// message.
import type { Exchange } from '../../evidence/evidence.ts'
import { type AnyJson, jsonOf, readEvents } from '../../evidence/reading.ts'
import { step } from '../../evidence/step.ts'

/** Returns a provider's complete answer. */
export const message = (more: object = {}) => ({
  ...{ id: 'msg_synthetic', type: 'message', role: 'assistant', model: 'claude-synthetic' },
  content: [{ type: 'text', text: 'said' }],
  ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 5, output_tokens: 5 } },
  ...more,
})

/** Streams of every kind, from each model. */
export const messageStreams = step<{ model: string; scenario: string }>('stream')
/** Calls of every kind from each model, not streamed. */
export const whole = step<{ model: string; scenario: string }>('whole answer')

/** Events that the dialect orders; pings and unknown events may occur anywhere. */
const ORDERED = /^(message_(start|delta|stop)|content_block_(start|delta|stop))$/

export const messageEvents = ({ body }: Pick<Exchange, 'body'>): AnyJson[] =>
  readEvents(body)
    .map(({ data }) => jsonOf(data) as AnyJson)
    .filter((event) => ORDERED.test(event?.type ?? ''))

/** Returns the blocks of a whole answer, or of a stream with their deltas joined. */
export function blocksIn(body: string): AnyJson[] {
  const whole = jsonOf(body) as AnyJson | undefined
  if (whole !== undefined) return Array.isArray(whole?.content) ? whole.content : []
  const blocks: AnyJson[] = []
  for (const { type, index, content_block, delta } of messageEvents({ body })) {
    if (type === 'content_block_start') blocks[index] = { ...content_block }
    const block = blocks[index]
    if (type !== 'content_block_delta' || !block) continue
    for (const [name, text] of Object.entries(delta ?? {}))
      if (name !== 'type') block[name] = (block[name] ?? '') + text
  }
  return blocks.filter((block) => block !== undefined)
}
