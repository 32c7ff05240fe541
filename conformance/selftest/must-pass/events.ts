// Gateways that write a stream's events in an unusual way that the standard allows.
import { type MustPass, onEvent, parseJson } from '../gateway.ts'

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

export const mustPass = {
  'pads-its-events': {
    what: 'A 1,400-byte comment hides the length of each event and makes a long stream eight times as long.',
    hooks: { event: (event) => [`: ${'x'.repeat(1_400)}\n\n`, event] },
  },
  'data-without-a-space': {
    what: 'Events have no space after `data:`, where the standard allows an optional space.',
    hooks: { event: (event) => [event.replace(/^data: /gm, 'data:')] },
  },
  'lines-end-with-cr': {
    what: 'Lines of a stream end with CR only, the third line end that the standard allows.',
    hooks: { event: (event) => [event.replace(/\r?\n/g, '\r')] },
  },
  'begins-with-a-bom': {
    what: 'A stream begins with a byte order mark, which the standard requires clients to ignore.',
    hooks: { event: (event, index) => [index === 0 ? `\ufeff${event}` : event] },
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
  'comments-after-the-end': {
    what: 'A comment and empty lines, which are not events, follow [DONE].',
    hooks: { event: (event) => (event.includes('[DONE]') ? [event, ': took 12 ms\n\n\n\n'] : [event]) },
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
  'comments-that-look-like-data': {
    what: 'Comments contain text that looks like an event, like [DONE] or like an error.',
    hooks: {
      event: (event) => [`: data: [DONE]\n: data: {"error":{"message":"no"}}\n: one\n\n`, event],
    },
  },
  'escapes-all-but-ascii': {
    what: 'JSON has `\\u` escapes for all non-ASCII characters, as Python writes it.',
    hooks: {
      event: (event) => [ascii(event)],
      body: (body, { path }) => (path.startsWith('/v1/chat') ? ascii(body) : body),
    },
  },
  'members-in-another-order': {
    what: 'The fields of each event are in another order, with some after the choices.',
    hooks: {
      event: onEvent((json) => Object.fromEntries(Object.entries(json).reverse())),
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

/** Escapes each half of a surrogate pair separately, as JSON does. */
const ascii = (text: string): string =>
  text.replace(/\P{ASCII}/gu, (each) =>
    Array.from({ length: each.length }, (_, index) => escaped(each.charCodeAt(index))).join(''),
  )

const escaped = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`
