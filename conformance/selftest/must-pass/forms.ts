// Gateways that write the same values in another format: JSON, numbers, dates, ids, content codings.

import { clock } from '../../../src/shared/clock.ts'
import { CHAT, changeEvent, changeJson, type MustPass, onRead, parseJson } from '../gateway.ts'
import type { GatewayHooks } from '../wire.ts'
import { chatOnly, likeChat } from './dialects.ts'

/** Returns true for a value with members. A long integer, which keeps its digits here, has no members. */
const isOpen = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !('rawJSON' in value)

/**
 * Writes unusual JSON: fields in reverse order, `\/` and `\u0065` for two characters, optionally `1e0` for 1.
 */
function oddly(value: unknown, numbers = false): string {
  if (Array.isArray(value)) return `[ ${value.map((each) => oddly(each, numbers)).join(' , ')} ]`
  if (typeof value === 'string')
    return JSON.stringify(value).replaceAll('/', '\\/').replaceAll('e', '\\u0065')
  if (typeof value === 'number' && numbers) return Number.isInteger(value) ? `${value}.0e0` : `${value}00`
  if (!isOpen(value)) return JSON.stringify(value)
  const members = Object.entries(value).reverse()
  return `{ ${members.map(([name, each]) => `${oddly(name)} : ${oddly(each, numbers)}`).join(' , ')} }`
}

/** Rewrites the arguments of tool calls: a text in chat and Responses, an object in Messages. */
// biome-ignore lint/suspicious/noExplicitAny: foreign JSON
function oddArguments(value: any): any {
  if (Array.isArray(value)) return value.map(oddArguments)
  if (!isOpen(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      if (name === 'arguments' && typeof each === 'string' && each.startsWith('{'))
        return [name, oddly(parseJson(each), true)]
      return [name, oddArguments(each)]
    }),
  )
}

const isAnswer = (path: string): boolean => /^\/v1\/(chat|messages|responses)/.test(path)

const writtenOddly: GatewayHooks = {
  body(body, { path }) {
    if (!isAnswer(path)) return body
    try {
      return oddly(oddArguments(parseJson(body)))
    } catch {
      return body
    }
  },
}

const isCall = (path: string): boolean => /^\/v1\/(messages|responses)(\?|$)/.test(path)

/** Hooks that include streams. Calls are translated, because relayed bytes must not change. */
const streamedOddly: GatewayHooks = {
  ...writtenOddly,
  config: chatOnly,
  event(event, _, { path }) {
    const data = /^data: (\{.*)$/m.exec(event)?.[1]
    return [data !== undefined && isCall(path) ? event.replace(data, () => oddly(parseJson(data))) : event]
  },
}

/** Date formats that HTTP allows. */
const DATES: readonly ((date: Date) => string)[] = [
  (date) => date.toUTCString(),
  (date) => {
    const [, day, month, year, time] = date.toUTCString().split(' ')
    const name = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(date)
    return `${name}, ${day}-${month}-${year!.slice(2)} ${time} GMT`
  },
  (date) => {
    const [name, day, month, year, time] = date.toUTCString().split(' ')
    return `${name!.slice(0, 3)} ${month} ${day!.replace(/^0/, ' ')} ${time} ${year}`
  },
]

let dated = 0

/** Writes `Retry-After` as a date, with a different format each time. */
const tellsDates: GatewayHooks = {
  responseStart({ headers }) {
    const seconds = Number(headers['retry-after'])
    // A date has no fractions of a second, so the time is rounded up.
    if (seconds > 0)
      headers['retry-after'] = DATES[dated++ % DATES.length]!(new Date(clock.now() + seconds * 1_000 + 999))
  },
}

const LOG = '/api/usage/request-logs'
/** Ids that are equal if they are read as doubles. */
const numbers = new Map<string, string>()
const numberOf = (id: string): string => {
  if (!numbers.has(id)) numbers.set(id, String(2n ** 60n + BigInt(numbers.size)))
  return numbers.get(id)!
}

const isHome = (path: string): boolean => path === CHAT || path.startsWith(LOG)

export const gateways = {
  'writes-answers-oddly': {
    what: 'In whole answers and tool-call arguments, the field order and escapes differ, and 1 is written as `1.0e0`.',
    hooks: writtenOddly,
  },
  'writes-messages-oddly': {
    what: 'Whole messages and translated events have a different field order and different escapes.',
    on: ['messages'],
    target: likeChat('messages'),
    hooks: streamedOddly,
  },
  'writes-relayed-messages-oddly': {
    what: 'In whole untranslated messages, the fields are in another order, including those of tool inputs.',
    on: ['messages'],
    hooks: writtenOddly,
  },
  'writes-responses-oddly': {
    what: 'Whole responses and translated events have a different field order and different escapes.',
    on: ['responses'],
    target: likeChat('responses'),
    hooks: streamedOddly,
  },
  'says-when-in-three-ways': {
    what: "The header Retry-After of messages is a date, in each of HTTP's three formats.",
    on: ['messages'],
    hooks: tellsDates,
  },
  'says-when-in-three-ways-to-chat': {
    what: "The header Retry-After is a date, in each of HTTP's three formats.",
    hooks: tellsDates,
  },
  'shouts-its-types': {
    what: 'Content types are in capitals, with a quoted parameter and spaces around it.',
    hooks: {
      responseStart({ headers }) {
        const [type] = (headers['content-type'] ?? '').split(';')
        if (type) headers['content-type'] = `${type.toUpperCase()} ; Charset="UTF-8"`
      },
    },
  },
  'ids-of-64-bits': {
    what: 'Request ids are 64-bit integers, written as JSON numbers in the log.',
    hooks: {
      responseStart({ headers }) {
        const id = headers['x-gateway-request-id']
        if (id !== undefined) headers['x-gateway-request-id'] = numberOf(String(id))
      },
      request(wanted) {
        for (const [id, number] of numbers) wanted.path = wanted.path.replace(number, id)
      },
      body: (body, { path }) =>
        path.startsWith(LOG) ? body.replace(/"id": ?"([\w-]+)"/g, (_, id) => `"id":${numberOf(id)}`) : body,
    },
  },
  'ids-in-another-spelling': {
    what: 'A request id is a UUID, in capitals in the header and in lower case without hyphens in the log.',
    hooks: {
      responseStart({ headers }) {
        const id = headers['x-gateway-request-id']
        if (id !== undefined) headers['x-gateway-request-id'] = String(id).toUpperCase()
      },
      request(wanted) {
        wanted.path = wanted.path.replace(/[0-9A-F]{8}-[0-9A-F-]{27}/, (id) => id.toLowerCase())
      },
      body: (body, { path }) =>
        path.startsWith(LOG)
          ? body.replace(/"id":"([\w-]{36})"/g, (_, id) => `"id":"${id.replaceAll('-', '')}"`)
          : body,
    },
  },
  'amounts-in-other-forms': {
    what: 'Durations are in ISO 8601, costs begin with a point or a currency, and token counts have commas.',
    hooks: {
      body: onRead(LOG, (json) => {
        for (const record of Array.isArray(json.data) ? json.data : [json]) {
          if (record.latency_ms != null) record.latency_ms = `PT${record.latency_ms / 1_000}S`
          if (record.cost_usd != null) record.cost_usd = `USD ${record.cost_usd.toFixed(9).replace(/^0/, '')}`
          for (const name of ['input', 'output'])
            if (record.tokens?.[name] != null) record.tokens[name] = record.tokens[name].toLocaleString('en')
        }
        return json
      }),
    },
  },
  'names-the-provider-before-a-colon': {
    what: 'The gateway names the model that served a call as provider:model.',
    hooks: {
      responseStart({ headers }) {
        const { 'x-gateway-provider': provider, 'x-gateway-model': model } = headers
        if (provider && model) headers['x-gateway-model'] = `${provider}:${model}`
      },
    },
  },
  'wraps-errors-as-text': {
    what: 'The gateway’s error message contains the provider’s error as escaped JSON text.',
    hooks: {
      body: (body, { path }) =>
        isHome(path)
          ? changeJson(body, (json) =>
              json.error?.message
                ? { error: { ...json.error, message: oddly({ error: { message: json.error.message } }) } }
                : json,
            )
          : body,
    },
  },
  'parses-arguments-on-the-way-oddly': {
    what: 'Earlier tool-call arguments reach the provider with different order, escapes and number formats, and null content becomes "".',
    hooks: {
      upstream: {
        request(wanted) {
          if (wanted.method !== 'POST') return
          const body = changeJson(wanted.body.toString('utf8'), (json) => ({
            ...json,
            messages: oddArguments(json.messages).map((message: { content?: unknown }) =>
              message.content === null ? { ...message, content: '' } : message,
            ),
          }))
          wanted.body = Buffer.from(body)
        },
      },
    },
  },
  'keeps-a-responses-stream-alive': {
    what: 'A translated Responses stream has numbered keepalive events, and the gateway’s own events without a number.',
    on: ['responses'],
    target: likeChat('responses'),
    hooks: () => {
      const counts = new WeakMap<object, number>()
      return {
        config: chatOnly,
        event(event, _, wanted) {
          if (!wanted.path.startsWith('/v1/responses')) return [event]
          const next = () => {
            counts.set(wanted, (counts.get(wanted) ?? -1) + 1)
            return counts.get(wanted)
          }
          const alive = `event: keepalive\ndata: {"type":"keepalive","sequence_number":`
          const before = event.includes('response.created') ? [] : [`${alive}${next()}}\n\n`]
          const said = changeEvent(event, (json) =>
            json.sequence_number === undefined ? json : { ...json, sequence_number: next() },
          )
          const own = 'event: gateway.cost\ndata: {"type":"gateway.cost","usd":0.1}\n\n'
          return [...before, ...said, own]
        },
      }
    },
  },
} satisfies Record<string, MustPass>
