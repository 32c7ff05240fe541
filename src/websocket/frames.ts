// Converts between WebSocket messages of the Responses API and events and errors of HTTP. A request is
// `response.create` with the members of a POST. Each event is one text message, and an error includes its
// status.
import { objectIn } from '../json/object-in.ts'
import { omitMembers } from '../json/splice.ts'
import { eventsIn } from '../shared/event-text.ts'

/** Event types that end a response. */
const ENDS = ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error']

/** Returns the type of an event from its JSON text; empty if there is none, or if it has a line end. */
export function typeOf(json: string): string {
  const [, type] = /^\s*\{\s*"type"\s*:\s*"([\w.]+)"/.exec(json) ?? []
  if (type !== undefined) return type
  const own = objectIn(json)?.type
  return typeof own === 'string' && !/[\r\n]/.test(own) ? own : ''
}

/** Returns true if an event of this type ends its response. */
export const isEnd = (type: string): boolean => ENDS.includes(type)

/**
 * Reads a stream of events in pieces of any size. `onEvent` receives the data of each event that begins like a JSON
 * object, and may be any text otherwise. Comments and end marks are skipped.
 */
export const eventReader = (onEvent: (json: string) => void): ((text: string) => void) =>
  eventsIn(({ data }) => {
    if (/^\s*\{/.test(data)) onEvent(data) // an end mark is not a message
  })

/** Returns the stream event for a message. */
export const eventOf = (json: string): string =>
  `event: ${typeOf(json)}\n${json
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')}\n`

/** Texts that may contain the name of a lane, also with escapes. */
const MAY_NAME_LANE = /stream_id|\\u/

/** Returns the message with the name of its lane, and without any other that its provider has written. */
export function inLane(json: string, lane: string | null): string {
  if (lane === null && !MAY_NAME_LANE.test(json)) return json
  if (objectIn(json) === null) return json // it cannot be read, so it belongs to no lane
  const own = MAY_NAME_LANE.test(json) ? omitMembers(json, [['stream_id']]) : json
  if (lane === null) return own
  const members = own.slice(own.indexOf('{') + 1)
  return `{"stream_id":${JSON.stringify(lane)}${/^\s*\}/.test(members) ? '' : ','}${members}`
}

/** Response headers of an error that WebSocket clients read. */
const SHOWN = /^(retry-after(-ms)?|x-request-id|x-should-retry|x-ratelimit-.+|x-codex-.+|x-gateway-.+)$/

/** Returns the message for an answer with an error status. `body`: JSON with an `error`, or any text. */
export function errorMessage(
  status: number,
  headers: Readonly<Record<string, unknown>>,
  body: string,
): string {
  const shown = Object.fromEntries(Object.entries(headers).filter(([name]) => SHOWN.test(name)))
  return JSON.stringify({ type: 'error', status, error: errorIn(body, status), headers: shown })
}

function errorIn(body: string, status: number): unknown {
  try {
    const { error } = JSON.parse(body)
    if (typeof error === 'object' && error !== null) return error
  } catch {
    // Worded below.
  }
  const message = body.slice(0, 2_000) || `The request failed with status ${status}.`
  return { message, type: status < 500 ? 'invalid_request_error' : 'server_error', code: null, param: null }
}
