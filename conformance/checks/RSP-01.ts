// RSP-01: A translated stream consists of `response.created`, `response.in_progress`, the items one at a time, each
// from `output_item.added` to `output_item.done`, and one `response.completed` or `response.incomplete`;
// `sequence_number` counts from 0.
import { type Check, doubt, finding } from '../check.ts'
import { modelsOf, refs, servedBy } from '../lookup.ts'
import { eventsOf, type Json, jsonOf } from '../reading.ts'
import { inWords, step } from '../step.ts'

/** Streams of every kind, from each model. */
export const streamed = step<{ model: string; scenario: string }>('stream')

const LAST = /^response\.(completed|incomplete)$/

export const eventsIn = (body: string): Json[] =>
  eventsOf(body)
    .map(({ data }) => jsonOf(data) as Json)
    .filter((event) => typeof event?.type === 'string' && event.type.startsWith('response.'))

/**
 * What is wrong with the order or the numbers, in a few words. `strictly`: numbered from 0, and in_progress behind created;
 * clients need neither.
 */
function wrong(events: readonly Json[], strictly: boolean): string | null {
  const types = events.map(({ type }) => String(type))
  const numbers = events.map(({ sequence_number }) => sequence_number)
  const jump = numbers.findIndex((number, index) => number !== index + (strictly ? 0 : numbers[0]))
  if (jump >= 0) return `event ${jump} has the number ${numbers[jump]}`
  if (types[0] !== 'response.created' || (strictly && types[1] !== 'response.in_progress'))
    return `it begins with ${types.slice(0, 2).join(', ')}`
  if (!LAST.test(types.at(-1)!) || types.filter((type) => LAST.test(type)).length !== 1)
    return `it ends with ${types.at(-1)}`
  let open: number | null = null
  for (const { type, output_index, item } of events) {
    if (type === 'response.output_item.added') {
      if (open !== null) return `item ${output_index} begins while ${open} is open`
      open = output_index
    } else if (type === 'response.output_item.done') {
      if (output_index !== open)
        return `item ${output_index} (${item?.type}) ends while ${open ?? 'none'} is open`
      open = null
    }
  }
  return open === null ? null : `item ${open} does not end`
}

export const responseEvents = {
  id: 'RSP-01',
  needs: ['responses'],
  surface: 'responses',
  timeout: 90_000,
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const scenario of ['plain', 'tools-parallel', 'finish-tool-calls', 'finish-length'])
        await session.chat(streamed.with({ model, scenario }), {
          model,
          stream: true,
          script: [{ scenario }],
        })
  },
  judge: ({ evidence, waybill }) =>
    streamed.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const see = refs(exchange, entry)
      if (entry === null || exchange.status !== 200)
        return doubt('events-in-order', `"${inWords(exchange)}" was not answered`, see)
      const problem = wrong(eventsIn(exchange.body), waybill)
      return finding(
        'events-in-order',
        problem === null,
        `the events of "${inWords(exchange)}"`,
        {
          expected: 'created, in_progress, items one at a time, one end; numbered from 0',
          actual: problem ?? 'so',
        },
        see,
      )
    }),
} satisfies Check
