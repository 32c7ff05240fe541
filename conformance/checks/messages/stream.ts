// Checks of the Messages dialect: the events of a translated stream, and whole answers to the same calls.

import { delta } from '../../dialects/dialect.ts'
import { dialectOf, everyModel, modelsOf, readAnswer, readSent } from '../../dialects/lookup.ts'
import { endText, listed, step } from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf, readEvents } from '../../evidence/reading.ts'
import { each, family } from '../check.ts'
import { heldBack, noteHeldBack } from '../flow/parts.ts'
import { messageEvents, messageStreams, whole } from '../responses/parts.ts'

const check = family({ needs: ['messages'], dialect: 'messages' })

/** Scenarios with different ends. */
const ENDS = ['plain', 'finish-tool-calls', 'finish-length', 'finish-content-filter']

const ORDER =
  /^message_start (?:content_block_start (?:content_block_delta )*content_block_stop )*(?:message_delta )+message_stop $/

/** Returns the reason why a stream is invalid, in a few words. */
function misordered(types: readonly string[], once: boolean): string | null {
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

check('MSG-02', {
  timeout: 90_000,
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const scenario of [...ENDS, 'tools-parallel', 'reasoning']) {
        const script = [{ scenario }]
        await session.chat(messageStreams.with({ model, scenario }), { model, stream: true, script })
        if (ENDS.includes(scenario)) await session.chat(whole.with({ model, scenario }), { model, script })
      }
  },
  judge: each(messageStreams, ({ exchange, entry, quoted, waybill }) => {
    if (entry === null || exchange.status !== 200)
      return { 'events-in-order': { doubt: `${quoted} was not answered` } }
    const events = messageEvents(exchange)
    const problem = misordered(
      events.map(({ type }) => type),
      waybill,
    )
    const start = events.find(({ type }) => type === 'message_start')?.message
    return {
      'events-in-order': [
        problem === null,
        `the events of ${quoted}`,
        'message_start, each block from start to stop, message_delta, message_stop',
        problem ?? 'so',
      ],
      'starts-with-a-message': [
        startsMessage(start),
        `the message in the message_start of ${quoted}`,
        'type message, role assistant, an id, a list of content, and usage',
        JSON.stringify(start ?? null).slice(0, 200),
      ],
    }
  }),
})

/** Returns the problem with the indexes, in a few words. */
function misnumbered(events: readonly AnyJson[]): string | null {
  let next = 0
  let open: number | null = null
  for (const { type, index } of events) {
    if (type === 'content_block_start') {
      if (open !== null) return `block ${index} starts while ${open} is open`
      if (index !== next) return `block ${index} starts where ${next} is due`
      open = index
      next++
    } else if (type === 'content_block_delta' || type === 'content_block_stop') {
      if (index !== open) return `${type} of block ${index} while ${open === null ? 'none' : open} is open`
      if (type === 'content_block_stop') open = null
    }
  }
  return next === 0 ? 'no block' : null
}

check('MSG-03', {
  shares: 'MSG-02',
  judge: each(messageStreams, ({ exchange, quoted }) => {
    const problem = misnumbered(messageEvents(exchange))
    return {
      'indexes-count-up': [
        problem === null,
        `the indexes of ${quoted}`,
        '0, 1, 2 …, one block open at a time',
        problem ?? 'so',
      ],
    }
  }),
})

/** Finish reasons of chat -> those of messages. Older gateways do not know `refusal`. */
const WORDS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  stop: ['end_turn'],
  length: ['max_tokens'],
  tool_calls: ['tool_use'],
  content_filter: ['refusal', 'end_turn'],
}

check('MSG-06', {
  shares: 'MSG-02',
  judge: each([messageStreams, whole], ({ exchange, entry, quoted, waybill }) => {
    const said = readSent(entry).finish[0]?.reason
    if (said === undefined || exchange.status !== 200)
      return { 'end-keeps-its-meaning': { doubt: `${quoted} was not answered` } }
    const json = jsonOf(exchange.body)
    const got =
      json === undefined
        ? messageEvents(exchange).findLast(({ type }) => type === 'message_delta')?.delta?.stop_reason
        : at(json, '/stop_reason')
    const words = WORDS[said] ?? [said]
    const allowed = waybill ? words.slice(0, 1) : words
    return {
      'end-keeps-its-meaning': [
        allowed.includes(String(got)),
        `the stop_reason of ${quoted}`,
        allowed.join(' or '),
        String(got),
      ],
    }
  }),
})

check('MSG-08', {
  shares: 'MSG-02',
  judge: each(messageStreams, ({ exchange, entry, quoted }) => {
    const events = messageEvents(exchange)
    const first = events.find(({ type }) => type === 'message_start')?.message?.usage
    const numbers = [first?.input_tokens, first?.output_tokens]
    const last = events.findLast(({ type }) => type === 'message_delta')?.usage?.output_tokens
    const told = at(readSent(entry).usage.at(-1), '/completion_tokens')
    return {
      'begins-with-numbers': [
        numbers.every((each) => typeof each === 'number'),
        `input_tokens and output_tokens in message_start of ${quoted}`,
        'two numbers',
        numbers.map((each) => JSON.stringify(each) ?? 'none').join(' and '),
      ],
      'ends-with-the-final-ones': [
        typeof last === 'number' && (told === undefined || last === told),
        `output_tokens in message_delta of ${quoted}`,
        told === undefined ? 'a number' : `${told}, as the provider told`,
        JSON.stringify(last) ?? 'none',
      ],
    }
  }),
})

check('MSG-15', {
  shares: 'MSG-02',
  judge: each(whole, ({ exchange, quoted }) => {
    const json = jsonOf(exchange.body)
    const wrong = Object.entries({
      type: (value) => value === 'message',
      role: (value) => value === 'assistant',
      content: Array.isArray,
      stop_reason: (value) => typeof value === 'string',
    } satisfies Record<string, (value: unknown) => boolean>).flatMap(([name, is]) => {
      const value = at(json, `/${name}`)
      return is(value) ? [] : [`${name} ${JSON.stringify(value)?.slice(0, 40) ?? 'missing'}`]
    })
    return {
      'answer-is-a-message': [
        exchange.status === 200 && wrong.length === 0,
        `the answer to ${quoted}`,
        '200, type "message", role "assistant", a list content and a stop_reason',
        `${endText(exchange)}, ${listed(wrong, exchange.body.slice(0, 120))}`,
      ],
    }
  }),
})

const lateError = step<{ model: string }>('error after the response start')

check('MSG-14', {
  hostile: true,
  timeout: 90_000,
  async exercise(session) {
    for (const model of everyModel(session)) {
      const gate = session.nonce()
      const script = [{ events: [delta('one'), { gate }, { failure: 'synthetic' }] }]
      const open = await session.openChat(lateError.with({ model }), { model, stream: true, script })
      const begun = await open.says('one')
      await session.mock.release(gate)
      const exchange = await open.done
      if (!begun) noteHeldBack(session, exchange)
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: each(lateError, ({ exchange, quoted, evidence, waybill }) => {
    const open = heldBack('error-is-an-event', evidence, exchange)
    if (open) return open
    const events = readEvents(exchange.body)
    const isReset = !waybill && exchange.end === 'cut' && readAnswer(exchange).done === 0
    const ok =
      isReset || events.some(({ event, data }) => event === 'error' && dialectOf(exchange).isError(data))
    return {
      'error-is-an-event': [
        ok,
        `how the client was told of ${quoted}`,
        `an event "error" with an error of the dialect${waybill ? '' : ', or a reset'}`,
        ok ? 'so' : `at last ${JSON.stringify(events.at(-1) ?? null).slice(0, 160)}`,
      ],
    }
  }),
})
