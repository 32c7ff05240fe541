// Gateways that continue or store responses, or send them over a WebSocket, in an unusual way.
import { responseIdIn } from '../../checks/responses/parts.ts'
import { at, jsonOf, readEvents } from '../../evidence/reading.ts'
import { isResponses } from '../dialect-hooks.ts'
import { changeJson, failWith, type Json, LIST, type MustPass } from '../gateway.ts'
import type { GatewayHooks, Wanted } from '../wire.ts'

const isMessage = ({ method, headers }: Wanted): boolean => method === 'POST' && headers.upgrade !== undefined

/** Returns the items of a member that may be a text. */
const itemsIn = (json: unknown): object[] =>
  typeof json === 'string' ? [{ role: 'user', content: json }] : Array.isArray(json) ? json : []

/** Returns the output of an answer, whole or streamed. */
function outputIn(body: string): object[] {
  const last = readEvents(body).map(({ data }) => at(jsonOf(data), '/response/output'))
  return itemsIn(at(jsonOf(body), '/output') ?? last.findLast((each) => each !== undefined))
}

/** Conversations by the id of their last answer. They outlive the gateway, as in a store on disk. */
const conversations = new Map<unknown, readonly object[]>()

/** Stores every conversation itself, and sends all of it each time. */
const keepsConversations: GatewayHooks = {
  request(wanted) {
    const call = jsonOf(wanted.body.toString()) as Json | undefined
    if (!isResponses(wanted) || wanted.method !== 'POST' || typeof call !== 'object' || call === null) return
    const { previous_response_id: previous, ...rest } = call
    const before = conversations.get(previous)
    if (before === undefined) return
    wanted.body = Buffer.from(JSON.stringify({ ...rest, input: [...before, ...itemsIn(call.input)] }))
  },
  body(body, wanted) {
    keep(body, wanted)
    return body
  },
  event(event, _, wanted) {
    if (event.includes('response.completed')) keep(event, wanted)
    return [event]
  },
}

function keep(body: string, wanted: Wanted): void {
  const id = isResponses(wanted) && wanted.method === 'POST' ? responseIdIn({ body }) : null
  if (id !== null)
    conversations.set(id, [...itemsIn(at(jsonOf(wanted.body.toString()), '/input')), ...outputIn(body)])
}

export const mustPass = {
  'sends-whole-conversations': {
    what: 'The gateway stores conversations, and continues a response by sending the whole conversation to the provider.',
    on: ['responses'],
    // The provider does not know which responses were deleted here.
    target: ({ dialects, ...target }) => ({
      ...target,
      dialects: { ...dialects, responses: { ...dialects.responses!, keeps: false } },
    }),
    hooks: keepsConversations,
  },
  'closes-on-bad-messages': {
    what: 'An unreadable message closes its WebSocket with code 1007 instead of causing an error.',
    on: ['responses'],
    hooks: {
      request: (wanted) =>
        isMessage(wanted) && typeof at(jsonOf(wanted.body.toString()), '/model') !== 'string'
          ? { status: 1007, headers: {}, body: 'not a call' }
          : undefined,
    },
  },
  'notes-on-the-socket': {
    what: 'A response over a WebSocket begins with an event about rate limits, as with OpenAI.',
    on: ['responses'],
    hooks: {
      event: (event, index, wanted) =>
        isMessage(wanted) && index === 0
          ? ['data: {"type":"codex.rate_limits","primary":{"used_percent":1}}\n\n', event]
          : [event],
    },
  },
  'failures-are-responses': {
    what: 'A failure over a WebSocket is reported as a failed response instead of an error.',
    on: ['responses'],
    hooks: {
      event(event, _, wanted) {
        const json = jsonOf(/^data: (.*)$/m.exec(event)?.[1] ?? '') as Json | undefined
        if (!isMessage(wanted) || json?.type !== 'error') return [event]
        const response = {
          id: 'resp_of_nobody',
          object: 'response',
          status: 'failed',
          error: json.error,
          output: [],
        }
        return [`data: ${JSON.stringify({ type: 'response.failed', sequence_number: 0, response })}\n\n`]
      },
    },
  },
  'gone-is-410': {
    what: 'A deleted response gets 410, and DELETE gets 204 without a body.',
    on: ['responses'],
    hooks: () => {
      const gone = new Set<string>()
      return {
        request: ({ method, path }) => (method === 'GET' && gone.has(path) ? failWith(410) : undefined),
        responseStart(start, { method, path, headers }) {
          if (method !== 'DELETE' || start.status !== 200 || headers.upgrade) return
          gone.add(path)
          start.status = 204
          delete start.headers['content-length']
          delete start.headers['content-type']
        },
        body: (body, { method }) => (method === 'DELETE' ? '' : body),
      }
    },
  },
  'a-record-for-the-socket-too': {
    what: 'The log lists WebSocket connections in addition to the responses.',
    on: ['responses'],
    hooks: () => {
      const connections: string[] = []
      return {
        request({ method, headers }) {
          if (method === 'GET' && headers.upgrade) connections.push(`connection-${connections.length}`)
        },
        body: (body, { path }) =>
          path.startsWith(LIST)
            ? changeJson(body, (json) => ({
                ...json,
                data: [...connections.map((id) => ({ ...json.data[0], id })), ...json.data],
              }))
            : body,
      }
    },
  },
} satisfies Record<string, MustPass>
