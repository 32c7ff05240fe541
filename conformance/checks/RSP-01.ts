// RSP-01: A translated stream consists of `response.created`, `response.in_progress`, the items and one
// `response.completed` or `response.incomplete`. The items arrive one at a time, each from `output_item.added` to
// `output_item.done`. The parts of an item are added before their text. `sequence_number` counts from 0. Keepalives
// also count, and the gateway's own events may occur between these events.

import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { type AnyJson, jsonOf, readEvents } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, doubt, finding } from '../runner/check.ts'

/** Streams of every kind, from each model. */
export const responseStreams = step<{ model: string; scenario: string }>('stream')

const LAST = /^response\.(completed|incomplete)$/

/** Returns all events with a type: the response's events, keepalives, and the gateway's own events. */
const allIn = (body: string): AnyJson[] =>
  readEvents(body)
    .map(({ data }) => jsonOf(data) as AnyJson)
    .filter((event) => typeof event?.type === 'string')

const isOfResponse = ({ type }: AnyJson): boolean => type.startsWith('response.')

export const eventsOfResponse = (body: string): AnyJson[] => allIn(body).filter(isOfResponse)

/**
 * Returns the problem with order or numbers, in a few words. `strictly` also requires numbers from 0, and
 * in_progress after created, which clients do not need.
 */
function wrong(all: readonly AnyJson[], strictly: boolean): string | null {
  const events = all.filter(isOfResponse)
  const types = events.map(({ type }) => String(type))
  // A keepalive has a number like other events; the gateway's own events may have none.
  const numbers = all
    .filter((event) => isOfResponse(event) || event.sequence_number !== undefined)
    .map(({ sequence_number }) => sequence_number)
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

/**
 * Describes the first text that arrives before its part was added. The official clients store a message's
 * parts in a list: the item starts it, and each `content_part.added` extends it. They throw for text without
 * a part in the list.
 */
function homeless(events: readonly AnyJson[]): string | null {
  const parts = new Map<unknown, number>()
  for (const { type, output_index, content_index, item } of events) {
    const known = parts.get(output_index) ?? 0
    if (type === 'response.output_item.added')
      parts.set(output_index, Array.isArray(item?.content) ? item.content.length : 0)
    else if (type === 'response.content_part.added') parts.set(output_index, known + 1)
    else if (/^response\.(output_text|refusal)\.delta$/.test(type) && !(content_index < known))
      return `${type} of part ${content_index} of item ${output_index}, which has ${known}`
  }
  return null
}

export const responseEvents = {
  id: 'RSP-01',
  needs: ['responses'],
  dialect: 'responses',
  timeout: 90_000,
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const scenario of ['plain', 'tools-parallel', 'finish-tool-calls', 'finish-length'])
        await session.chat(responseStreams.with({ model, scenario }), {
          model,
          stream: true,
          script: [{ scenario }],
        })
  },
  judge: ({ evidence, waybill }) =>
    responseStreams.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      const see = refs(exchange, entry)
      if (entry === null || exchange.status !== 200)
        return [doubt('events-in-order', `"${stepText(exchange)}" was not answered`, see)]
      const problem = wrong(allIn(exchange.body), waybill)
      const early = homeless(eventsOfResponse(exchange.body))
      return [
        finding(
          'events-in-order',
          problem === null,
          `the events of "${stepText(exchange)}"`,
          {
            expected: 'created, in_progress, items one at a time, one end; numbered from 0',
            actual: problem ?? 'so',
          },
          see,
        ),
        finding(
          'parts-come-first',
          early === null,
          `the parts of the items of "${stepText(exchange)}"`,
          { expected: 'content_part.added before the text of each', actual: early ?? 'so' },
          see,
        ),
      ]
    }),
} satisfies Check
