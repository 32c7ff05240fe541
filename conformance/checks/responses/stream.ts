// Checks of the Responses dialect: the events of a stream.

import { isDeepStrictEqual } from 'node:util'
import { modelsOf } from '../../dialects/lookup.ts'
import { listed, step } from '../../evidence/evidence.ts'
import { type AnyJson, jsonOf, readEvents } from '../../evidence/reading.ts'
import { callEach, each, family } from '../check.ts'

const check = family({ needs: ['responses'], dialect: 'responses' })

/** Streams of every kind, from each model. */
const responseStreams = step<{ model: string; scenario: string }>('stream')

const LAST = /^response\.(completed|incomplete)$/

/** Returns all events with a type: the response's events, keepalives, and the gateway's own events. */
const allIn = (body: string): AnyJson[] =>
  readEvents(body)
    .map(({ data }) => jsonOf(data) as AnyJson)
    .filter((event) => typeof event?.type === 'string')

const isOfResponse = ({ type }: AnyJson): boolean => type.startsWith('response.')

const eventsOfResponse = (body: string): AnyJson[] => allIn(body).filter(isOfResponse)

/**
 * Returns the problem with order or numbers, in a few words. `strictly` also requires numbers from 0, and
 * in_progress after created, which clients do not need.
 */
function misordered(all: readonly AnyJson[], strictly: boolean): string | null {
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

check('RSP-01', {
  timeout: 90_000,
  exercise: callEach(
    responseStreams,
    { model: modelsOf, scenario: ['plain', 'tools-parallel', 'finish-tool-calls', 'finish-length'] },
    ({ model, scenario }) => ({ model, stream: true, script: [{ scenario }] }),
  ),
  judge: each(responseStreams, ({ exchange, entry, quoted, waybill }) => {
    if (entry === null || exchange.status !== 200)
      return { 'events-in-order': { doubt: `${quoted} was not answered` } }
    const problem = misordered(allIn(exchange.body), waybill)
    const early = homeless(eventsOfResponse(exchange.body))
    return {
      'events-in-order': [
        problem === null,
        `the events of ${quoted}`,
        'created, in_progress, items one at a time, one end; numbered from 0',
        problem ?? 'so',
      ],
      'parts-come-first': [
        early === null,
        `the parts of the items of ${quoted}`,
        'content_part.added before the text of each',
        early ?? 'so',
      ],
    }
  }),
})

check('RSP-02', {
  shares: 'RSP-01',
  judge: each(responseStreams, ({ exchange, quoted }) => {
    const events = eventsOfResponse(exchange.body)
    const of = (type: string) => events.filter((event) => event.type === `response.output_item.${type}`)
    const idsOf = (items: readonly AnyJson[]): string[] => items.map((item) => String(item?.id))
    const [begun, ids] = ['added', 'done'].map((type) => idsOf(of(type).map(({ item }) => item))) as [
      string[],
      string[],
    ]
    const last = events.at(-1)?.response?.output
    const whole = Array.isArray(last) ? idsOf(last) : []
    return {
      'items-are-done': [
        ids.length > 0 && begun.length === ids.length && isDeepStrictEqual(ids.toSorted(), whole.toSorted()),
        `the items of ${quoted}`,
        'each done, and in the response of the last event',
        `begun: ${listed(begun)}; done: ${listed(ids)}; in the last event: ${listed(whole)}`,
      ],
    }
  }),
})

const ending = step<{ scenario: string }>('stream')

const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed', 'error']

check('RSP-03', {
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    for (const scenario of ['plain', 'finish-length', 'cut-after-2', 'cut-after-4']) {
      await session.chat(ending.with({ scenario }), { stream: true, script: [{ scenario }] })
      if (scenario.startsWith('cut')) await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: each(ending, ({ exchange, quoted }) => {
    // Keepalives and the gateway's own events may occur anywhere.
    const last = readEvents(exchange.body)
      .map(({ data }) => jsonOf(data) as AnyJson | undefined)
      .findLast((event) => /^(response\.|error$)/.test(event?.type ?? ''))
    // Before the response starts, an error is a status.
    const refused = exchange.status === null || exchange.status >= 400
    const ok = refused || exchange.end === 'cut' || TERMINAL.includes(last?.type)
    return {
      'ends-in-a-terminal-event': [
        ok,
        `how ${quoted} ended`,
        'a terminal event, or a broken connection',
        `${last?.type ?? 'no event'}, ${exchange.end === 'timed_out' ? exchange.error : exchange.end}`,
      ],
    }
  }),
})
