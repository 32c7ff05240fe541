// Must-fail gateways for responses over a WebSocket, and for responses that are continued, read and deleted.
import { clock } from '../../../src/shared/clock.ts'
import { responseIdIn } from '../../checks/responses/parts.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { changeJson, failWith, isResponses, LIST, type MustFail } from '../gateway.ts'
import type { GatewayHooks, Wanted } from '../wire.ts'

/** Returns true for a message on a WebSocket, which the hooks see as a request. */
const isMessage = ({ method, headers }: Wanted): boolean => method === 'POST' && headers.upgrade !== undefined
const isUpgrade = ({ method, headers }: Wanted): boolean => method === 'GET' && headers.upgrade !== undefined
/** Returns true for a request about a response by its id. */
const isAboutOne = (wanted: Wanted): boolean => isResponses(wanted) && wanted.path.includes('/resp_')

const isBad = ({ body }: Wanted): boolean =>
  typeof at(jsonOf(body.toString()), '/model') !== 'string' || Array.isArray(jsonOf(body.toString()))

const previousIn = ({ body }: Wanted): unknown => at(jsonOf(body.toString()), '/previous_response_id')

const notFound = {
  ...failWith(400),
  body: '{"error":{"message":"nobody knows it","code":"previous_response_not_found"}}',
}

/** Calls `seen` with the id of each complete answer, immediately after its end. */
const eachAnswer = (seen: (id: string) => void): Pick<GatewayHooks, 'body' | 'event'> => {
  const look = (body: string, wanted: Wanted) => {
    const id = isResponses(wanted) ? responseIdIn({ body }) : null
    if (id !== null) seen(id)
  }
  return {
    body(body, wanted) {
      look(body, wanted)
      return body
    },
    event(event, _, wanted) {
      if (/response\.completed/.test(event)) look(event, wanted)
      return [event]
    },
  }
}

/** Returns a function that is true for requests with the key of the first call. */
function makerOf(): (wanted: Wanted) => boolean {
  let maker: string | undefined
  return (wanted) => {
    if (isResponses(wanted) && wanted.method === 'POST') maker ??= wanted.headers.authorization
    return wanted.headers.authorization === maker
  }
}

/** Time after which the gateway below can find an answer, ms. */
const BATCH_MS = 400

export const gateways = {
  'knows-its-answers-late': {
    what: 'Answers are stored in batches, so a new answer cannot be found for a moment.',
    caughtBy: ['RSP-16'],
    hooks: () => {
      const since = new Map<unknown, number>()
      return {
        ...eachAnswer((id) => since.set(id, clock.now())),
        request: (wanted) =>
          clock.now() - (since.get(previousIn(wanted)) ?? 0) < BATCH_MS ? notFound : undefined,
      }
    },
  },
  'forgets-its-answers-at-a-restart': {
    what: 'The gateway stores the owners of answers only in memory.',
    caughtBy: ['RSP-17'],
    hooks: () => {
      const known = new Set<unknown>([undefined])
      return {
        ...eachAnswer((id) => known.add(id)),
        request: (wanted) => (isResponses(wanted) && !known.has(previousIn(wanted)) ? notFound : undefined),
      }
    },
  },
  'bad-messages-are-sent-first': {
    what: 'The gateway makes an inference for a WebSocket message before reading the message.',
    caughtBy: ['RSP-18/refused-costs-nothing'],
    hooks: {
      async request(wanted, context) {
        if (isMessage(wanted) && isBad(wanted)) await context.spend()
      },
    },
  },
  'bad-messages-get-silence': {
    what: 'An unreadable message on a WebSocket is dropped without an answer.',
    caughtBy: ['RSP-18/refusal-is-said'],
    hooks: {
      request(wanted) {
        if (isMessage(wanted) && isBad(wanted)) wanted.body = Buffer.alloc(0)
      },
    },
  },
  'one-bad-message-ends-all': {
    what: 'After an unreadable message, no WebSocket gets an answer.',
    caughtBy: ['RSP-18/next-is-served'],
    hooks: () => {
      let isOver = false
      return {
        request(wanted) {
          if (isMessage(wanted)) isOver ||= isBad(wanted)
          return isOver && isUpgrade(wanted) ? failWith(503) : undefined
        },
      }
    },
  },
  'socket-loses-a-delta': {
    what: 'On a WebSocket, the gateway drops the first text delta.',
    caughtBy: ['RSP-19/same-answer'],
    hooks: () => {
      const begun = new WeakSet<Wanted>()
      return {
        event(event, _, wanted) {
          if (!isMessage(wanted) || begun.has(wanted) || !event.includes('output_text.delta')) return [event]
          begun.add(wanted)
          return []
        },
      }
    },
  },
  ...forEveryKey('GET', 'other-keys-get-nothing'),
  ...forEveryKey('DELETE', 'other-keys-delete-nothing'),
  'deleted-can-be-read': {
    what: 'A deleted response can still be read from a cache.',
    caughtBy: ['RSP-20/is-gone'],
    hooks: () => {
      const read = new Map<string, string>()
      const deleted = new Set<string>()
      const isMaker = makerOf()
      return {
        request(wanted) {
          if (!isMaker(wanted) || !isAboutOne(wanted)) return
          if (wanted.method === 'DELETE') deleted.add(wanted.path)
          else if (deleted.has(wanted.path)) return { ...failWith(200), body: read.get(wanted.path) ?? '{}' }
        },
        body(body, wanted) {
          if (isAboutOne(wanted) && wanted.method === 'GET' && !read.has(wanted.path))
            read.set(wanted.path, body)
          return body
        },
      }
    },
  },
  'deleted-goes-on': {
    what: 'A deleted response cannot be read, but a conversation can still continue it.',
    caughtBy: ['RSP-20/is-not-continued'],
    hooks: () => {
      const hidden = new Set<string>()
      const isMaker = makerOf()
      return {
        request(wanted) {
          if (!isMaker(wanted) || !isAboutOne(wanted)) return
          if (hidden.has(wanted.path)) return failWith(404)
          if (wanted.method !== 'DELETE') return
          hidden.add(wanted.path)
          return { ...failWith(200), body: '{"deleted":true}' }
        },
      }
    },
  },
  'sockets-are-not-recorded': {
    what: 'Responses sent over a WebSocket are missing from the log.',
    caughtBy: ['RSP-21'],
    hooks: () => {
      let since = Number.POSITIVE_INFINITY
      return {
        request(wanted) {
          if (isMessage(wanted)) since = Math.min(since, clock.now())
        },
        body: (body, { path }) =>
          path.startsWith(LIST)
            ? changeJson(body, (json) => ({
                ...json,
                data: json.data.filter((row: { created_at: string }) => Date.parse(row.created_at) < since),
              }))
            : body,
      }
    },
  },
} satisfies Record<string, MustFail>

/** Returns a gateway that lets every client with a response's id do something with it. */
function forEveryKey(method: string, caughtBy: string): Record<string, MustFail> {
  const hooks = (): GatewayHooks => {
    let maker: string | undefined
    return {
      request(wanted) {
        if (!isResponses(wanted)) return
        if (wanted.method === 'POST') maker = wanted.headers.authorization
        else if (isAboutOne(wanted) && wanted.method === method && maker) wanted.headers.authorization = maker
      },
    }
  }
  return {
    [`${method.toLowerCase()}-with-every-key`]: {
      what: `${method} of a response works with every key.`,
      caughtBy: [`RSP-20/${caughtBy}`],
      hooks,
    },
  }
}
