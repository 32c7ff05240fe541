// MSG-02: A translated stream consists of `message_start` with the members of a message, blocks, `message_delta`
// and `message_stop`. Each block has its start, deltas and stop. Each of these occurs exactly once.

import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import type { AnyJson } from '../evidence/reading.ts'
import { stepText } from '../evidence/step.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import { messageEvents, messageStreams, whole } from './messages.ts'

/** Scenarios with different ends. */
const ENDS = ['plain', 'finish-tool-calls', 'finish-length', 'finish-content-filter']

const ORDER =
  /^message_start (?:content_block_start (?:content_block_delta )*content_block_stop )*(?:message_delta )+message_stop $/

/** Returns the reason why a stream is invalid, in a few words. */
function wrong(types: readonly string[], once: boolean): string | null {
  const times = (name: string) => types.filter((type) => type === name).length
  const single = ['message_start', 'message_stop', ...(once ? ['message_delta'] : [])].filter(
    (name) => times(name) !== 1,
  )
  if (single.length > 0) return single.map((name) => `${times(name)} times ${name}`).join(', ')
  return ORDER.test(`${types.join(' ')} `) ? null : `out of order: ${types.join(' ').slice(0, 200)}`
}

/** Returns true if the official clients can use this start: they keep its members and append the deltas. */
const startsMessage = (message: AnyJson | undefined): boolean =>
  message?.type === 'message' &&
  message.role === 'assistant' &&
  typeof message.id === 'string' &&
  Array.isArray(message.content) &&
  typeof message.usage === 'object' &&
  message.usage !== null

export const eventOrder = {
  id: 'MSG-02',
  needs: ['messages'],
  dialect: 'messages',
  timeout: 90_000,
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const scenario of [...ENDS, 'tools-parallel', 'reasoning']) {
        const script = [{ scenario }]
        await session.chat(messageStreams.with({ model, scenario }), { model, stream: true, script })
        if (ENDS.includes(scenario)) await session.chat(whole.with({ model, scenario }), { model, script })
      }
  },
  judge: ({ evidence, waybill }) =>
    messageStreams.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      const see = refs(exchange, entry)
      if (entry === null || exchange.status !== 200)
        return [doubt('events-in-order', `"${stepText(exchange)}" was not answered`, see)]
      const events = messageEvents(exchange)
      const problem = wrong(
        events.map(({ type }) => type),
        waybill,
      )
      const start = events.find(({ type }) => type === 'message_start')?.message
      return [
        finding(
          'events-in-order',
          problem === null,
          `the events of "${stepText(exchange)}"`,
          {
            expected: 'message_start, each block from start to stop, message_delta, message_stop',
            actual: problem ?? 'so',
          },
          see,
        ),
        finding(
          'starts-with-a-message',
          startsMessage(start),
          `the message in the message_start of "${stepText(exchange)}"`,
          {
            expected: 'type message, role assistant, an id, a list of content, and usage',
            actual: JSON.stringify(start ?? null).slice(0, 200),
          },
          see,
        ),
      ]
    }),
} satisfies Check
