// Gateways with unusual whole answers, names and streams, or that ask their providers in an unusual way.
import { clock, sleep } from '../../../src/shared/clock.ts'
import {
  callIn,
  changeEvent,
  changeJson,
  type Json,
  type MustPass,
  onEvent,
  onRead,
  parseJson,
} from '../gateway.ts'
import type { GatewayHooks, Wanted } from '../wire.ts'

let made = 1_700_000_000

const KNOWN = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']

/** Changes the body of each call to a provider. */
const asks = (change: (call: Json) => object): GatewayHooks => ({
  upstream: {
    request(wanted) {
      if (wanted.method === 'POST')
        wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), change))
    },
  },
})

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, each]) => [name, sorted(each)]),
        )
      : value

/** Changes the deltas of a stream and the message of a whole answer. */
const said = (change: (said: Json) => Json) => ({
  event: (event: string) =>
    changeEvent(event, (json) => ({
      ...json,
      ...(json.choices && {
        choices: json.choices.map((choice: Json) => ({ ...choice, delta: change(choice.delta ?? {}) })),
      }),
    })),
  body: (body: string, wanted: Wanted) =>
    callIn(wanted)
      ? changeJson(body, (json) =>
          json.choices
            ? {
                ...json,
                choices: json.choices.map((choice: Json) => ({ ...choice, message: change(choice.message) })),
              }
            : json,
        )
      : body,
})

/** Splits each piece of text into two. */
function recut(event: string): readonly string[] {
  const text = /"content":\s*"([^"\\]{2,})"/.exec(event)?.[1]
  if (text === undefined) return [event]
  const letters = [...text]
  return [letters[0]!, letters.slice(1).join('')].flatMap((content) =>
    changeEvent(event, (json) => {
      json.choices[0].delta.content = content
      return json
    }),
  )
}

interface Tool {
  index: number
  id?: string
  function: { name?: string }
}

/** Ids and names of the tool calls so far in a request's stream. */
const toolsOf = new WeakMap<Wanted, Map<number, Tool>>()
/** Last event with a finish reason, held back until usage follows or the stream ends. */
const heldOf = new WeakMap<Wanted, string>()

/** Parses the data of an event; null for comments and the end mark. */
// biome-ignore lint/suspicious/noExplicitAny: foreign JSON
const jsonIn = (event: string): any => {
  const data = /^data: (\{.*)$/m.exec(event)?.[1]
  return data === undefined ? null : parseJson(data)
}

/** Rewrites each event from its JSON. */
const written =
  (write: (json: object) => string) =>
  (event: string): string[] => {
    const json = jsonIn(event)
    return [json === null ? event : write(json)]
  }

export const gateways = {
  'shouts-its-providers': {
    what: 'Providers are written in capitals.',
    hooks: {
      responseStart({ headers }) {
        const provider = headers['x-gateway-provider']
        if (provider !== undefined) headers['x-gateway-provider'] = String(provider).toUpperCase()
      },
    },
  },
  'names-the-provider-with-the-model': {
    what: 'The gateway always reports a model with its provider as a prefix.',
    hooks: {
      responseStart({ headers }) {
        const { 'x-gateway-provider': provider, 'x-gateway-model': model } = headers
        if (provider && model) headers['x-gateway-model'] = `${provider}/${model}`
      },
    },
  },
  'writes-json-with-spaces': {
    what: 'JSON is indented and has its fields in another order.',
    hooks: {
      body(body) {
        try {
          const json = parseJson(body)
          return JSON.stringify(
            Array.isArray(json) ? json : Object.fromEntries(Object.entries(json).reverse()),
            null,
            2,
          )
        } catch {
          return body
        }
      },
    },
  },
  'catalog-with-a-clock': {
    what: 'Each catalog entry states when the entry was last checked.',
    hooks: {
      body: onRead(/^\/v1\/models(\?|$)/, (json) => ({
        ...json,
        data: json.data.map((entry: object) => ({
          ...entry,
          last_checked: clock.now() + Math.random(),
        })),
      })),
    },
  },
  'catalog-in-any-order': {
    what: 'The catalog is rebuilt for each read, with its entries in any order.',
    hooks: {
      body: onRead(/^\/v1\/models$/, (json) => {
        const data = json.data.map((entry: object) => ({ ...entry, created: made++ }))
        return { ...json, data: made % 2 === 0 ? data : data.toReversed() }
      }),
    },
  },
  'lists-a-model-twice': {
    what: 'The catalog lists a model twice if two providers have it.',
    hooks: {
      body: onRead(/^\/v1\/models(\?|$)/, (json) => ({
        ...json,
        data: [...json.data, { ...json.data[0], owned_by: 'another' }],
      })),
    },
  },
  'failed-ends-become-errors': {
    what: 'A chunk with a finish reason that OpenAI does not have becomes an event with an error.',
    hooks: {
      event: onEvent((json) => {
        const reasons: unknown[] = json.choices?.map?.((choice: Json) => choice.finish_reason) ?? []
        return reasons.every((reason) => !reason || KNOWN.includes(String(reason)))
          ? json
          : { error: { message: 'the provider failed', type: 'server_error', param: null, code: null } }
      }),
    },
  },
  'odd-labels-are-refused': {
    what: 'A stream of a provider that is labelled as text, or not at all, is refused with an error.',
    hooks: {
      upstream: {
        responseStart(start) {
          const type = start.headers['content-type'] ?? ''
          if (start.status === 200 && /^(text\/plain.*)?$/.test(String(type))) start.status = 502
        },
      },
    },
  },
  'sorts-members': {
    what: 'The fields of a request are sorted by name, at every depth.',
    hooks: asks((call) => sorted(call) as object),
  },
  'text-becomes-parts': {
    what: 'The gateway passes on a text as a list with one part.',
    hooks: asks((call) => ({
      ...call,
      messages: call.messages?.map?.((message: Json) =>
        typeof message.content === 'string' && message.role === 'user'
          ? { ...message, content: [{ type: 'text', text: message.content }] }
          : message,
      ),
    })),
  },
  'parses-arguments-on-the-way': {
    what: 'The gateway parses the arguments of earlier tool calls and writes them as the same JSON with spaces.',
    hooks: asks((call) => ({
      ...call,
      messages: call.messages?.map?.((message: Json) =>
        message.tool_calls
          ? {
              ...message,
              tool_calls: message.tool_calls.map((tool: Json) => ({
                ...tool,
                function: {
                  ...tool.function,
                  arguments: JSON.stringify(parseJson(tool.function.arguments), null, 1),
                },
              })),
            }
          : message,
      ),
    })),
  },
  'finishes-apart': {
    what: 'The finish reason is in a separate chunk after the last text.',
    hooks: {
      event: (event) => {
        const parts = changeEvent(event, (json) =>
          json.choices?.[0]?.finish_reason
            ? { ...json, choices: [{ ...json.choices[0], finish_reason: null }] }
            : json,
        )
        return parts[0] === event ? [event] : [...parts, ...finishOnly(event)]
      },
    },
  },
  'parses-arguments': {
    what: 'The gateway parses tool-call arguments in whole answers and writes them as the same JSON with spaces.',
    hooks: {
      body: said((message) =>
        message.tool_calls ? { ...message, tool_calls: message.tool_calls.map(spaced) } : message,
      ).body,
    },
  },
  'repeats-tool-ids': {
    what: 'Each delta of a tool call contains its id and name, which clients replace with the same values.',
    hooks: {
      event: (event, _, wanted) =>
        changeEvent(event, (json) => {
          const tools = toolsOf.get(wanted) ?? new Map<number, Tool>()
          toolsOf.set(wanted, tools)
          for (const call of json.choices?.[0]?.delta?.tool_calls ?? []) {
            const known = tools.get(call.index) ?? call
            tools.set(call.index, known)
            call.id = known.id
            call.function = { ...call.function, name: known.function.name }
          }
          return json
        }),
    },
  },
  'usage-with-the-finish': {
    what: 'Usage is in the chunk with the finish reason instead of a separate chunk.',
    hooks: {
      event(event, _, wanted) {
        const held = heldOf.get(wanted)
        const json = /^data: \{/m.test(event) ? parseJson(/^data: (.*)$/m.exec(event)![1]!) : null
        if (json?.choices?.[0]?.finish_reason != null && held === undefined) {
          heldOf.set(wanted, event)
          return []
        }
        if (held === undefined) return [event]
        heldOf.delete(wanted)
        if (json?.usage && json.choices?.length === 0)
          return changeEvent(held, (last) => ({ ...last, usage: json.usage }))
        return [held, event]
      },
    },
  },
  'cuts-texts-otherwise': {
    what: 'Each text delta is split in two.',
    hooks: { event: (event) => recut(event) },
  },
  'empty-deltas': {
    what: 'Streams have deltas without text between the other deltas.',
    hooks: {
      event: (event) =>
        /"content":\s*"[^"]/.test(event)
          ? [
              ...changeEvent(event, (json) => ({
                ...json,
                choices: [{ ...json.choices[0], delta: { content: '' }, finish_reason: null }],
              })),
              event,
            ]
          : [event],
    },
  },
  'names-its-events': {
    what: 'Events have an id and the default name, which clients ignore.',
    hooks: {
      event: (event, index) =>
        event.startsWith('data:') ? [`id: ${index}\nevent: message\n${event}`] : [event],
    },
  },
  'streams-slowly': {
    what: 'A stream has 300 events per second, regardless of the provider’s pace.',
    hooks: {
      async event(event) {
        await sleep(3)
        return [event]
      },
    },
  },
  'pads-its-events': {
    what: 'A 1,400-byte comment hides the length of each event and makes a long stream eight times as long.',
    hooks: { event: (event) => [`: ${'x'.repeat(1_400)}\n\n`, event] },
  },
  'data-on-several-lines': {
    what: 'The indented JSON of an event is spread over several data lines, which clients join.',
    hooks: {
      event: written(
        (json) =>
          `${JSON.stringify(json, null, 1)
            .split('\n')
            .map((line) => `data: ${line}\n`)
            .join('')}\n`,
      ),
    },
  },
  'tells-when-to-reconnect': {
    what: 'A stream begins with `retry:` and has unknown fields, which clients ignore.',
    hooks: {
      event: (event, index) => [
        index === 0 ? `retry: 3000\n\n${event}` : event.replace(/^data:/m, 'x-trace: 7\ndata:'),
      ],
    },
  },
  'events-in-pieces': {
    what: 'Each event is sent in three writes, split at any place.',
    hooks: {
      event: (event) => {
        const third = Math.ceil(event.length / 3)
        return [event.slice(0, third), event.slice(third, 2 * third), event.slice(2 * third)]
      },
    },
  },
  'escapes-all-but-ascii': {
    what: 'JSON has `\\u` escapes for all non-ASCII characters, as Python writes it.',
    hooks: {
      event: (event) => [ascii(event)],
      body: (body, { path }) => (path.startsWith('/v1/chat') ? ascii(body) : body),
    },
  },
  'cuts-instead-of-an-error-event': {
    what: 'The gateway breaks off the connection if the provider sends an error in a stream. No client mistakes this for a normal end.',
    hooks: {
      event(event) {
        if (jsonIn(event)?.error) throw new Error('cut')
        return [event]
      },
    },
  },
  'errors-are-named-events': {
    what: 'An error in a stream is an event named `error` with plain text as data.',
    hooks: {
      event: (event) => {
        const message = jsonIn(event)?.error?.message
        return [message === undefined ? event : `event: error\ndata: ${message}\n\n`]
      },
    },
  },
} satisfies Record<string, MustPass>

const spaced = (call: Json): Json => ({
  ...call,
  function: { ...call.function, arguments: JSON.stringify(parseJson(call.function.arguments), null, 1) },
})

const finishOnly = (event: string): readonly string[] =>
  changeEvent(event, ({ usage: _, ...json }) => ({
    ...json,
    choices: [{ index: json.choices[0].index, delta: {}, finish_reason: json.choices[0].finish_reason }],
  }))

/** Escapes each half of a surrogate pair separately, as JSON does. */
const ascii = (text: string): string =>
  text.replace(/\P{ASCII}/gu, (each) =>
    Array.from({ length: each.length }, (_, index) => escaped(each.charCodeAt(index))).join(''),
  )

const escaped = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`
