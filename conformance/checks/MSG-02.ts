// MSG-02: A translated stream consists of `message_start`, each block with its start, deltas and stop,
// `message_delta` and `message_stop`, each exactly once.
import { type Check, doubt, finding } from '../check.ts'
import { modelsOf, refs, servedBy } from '../lookup.ts'
import { inWords } from '../step.ts'
import { eventsIn, streamed, whole } from './messages.ts'

/** Scenarios that end in different ways. */
const ENDS = ['plain', 'finish-tool-calls', 'finish-length', 'finish-content-filter']

const ORDER =
  /^message_start (?:content_block_start (?:content_block_delta )*content_block_stop )*(?:message_delta )+message_stop $/

/** What stands in the way of a stream, in a few words. */
function wrong(types: readonly string[], once: boolean): string | null {
  const times = (name: string) => types.filter((type) => type === name).length
  const single = ['message_start', 'message_stop', ...(once ? ['message_delta'] : [])].filter(
    (name) => times(name) !== 1,
  )
  if (single.length > 0) return single.map((name) => `${times(name)} times ${name}`).join(', ')
  return ORDER.test(`${types.join(' ')} `) ? null : `out of order: ${types.join(' ').slice(0, 200)}`
}

export const eventOrder = {
  id: 'MSG-02',
  needs: ['messages'],
  surface: 'messages',
  timeout: 90_000,
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const scenario of [...ENDS, 'tools-parallel', 'reasoning']) {
        const script = [{ scenario }]
        await session.chat(streamed.with({ model, scenario }), { model, stream: true, script })
        if (ENDS.includes(scenario)) await session.chat(whole.with({ model, scenario }), { model, script })
      }
  },
  judge: ({ evidence, waybill }) =>
    streamed.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const see = refs(exchange, entry)
      if (entry === null || exchange.status !== 200)
        return doubt('events-in-order', `"${inWords(exchange)}" was not answered`, see)
      const problem = wrong(
        eventsIn(exchange).map(({ type }) => type),
        waybill,
      )
      return finding(
        'events-in-order',
        problem === null,
        `the events of "${inWords(exchange)}"`,
        {
          expected: 'message_start, each block from start to stop, message_delta, message_stop',
          actual: problem ?? 'so',
        },
        see,
      )
    }),
} satisfies Check
