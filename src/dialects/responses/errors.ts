// Errors of OpenAI's Responses dialect, as a body and as the last event of a stream. Format: OpenAI API
// reference, "Errors" and "Streaming events".
import type { ProviderError } from '../../core/call.ts'
import type { GatewayError } from '../../core/errors.ts'
import { clock } from '../../shared/clock.ts'
import { errorCode, errorStatus, isObject, type Json } from '../json.ts'
import { paramOf } from '../openai.ts'

/** Statuses for error codes inside a 200. Any other code may be a failure or a refusal. */
const STATUSES: Readonly<Record<string, number>> = {
  server_error: 500,
  server_is_overloaded: 503,
  slow_down: 503,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  invalid_prompt: 400,
  context_length_exceeded: 400,
}

/**
 * Writes a gateway error as the last event of a stream. `events`: the number of events already sent. Codex
 * ignores an event called `error` and would report a truncated stream. The event has the request's id,
 * because the response's id may be unknown.
 */
export function failedEvent(error: GatewayError, requestId: string, events: number): string {
  const code = error.status === 429 ? 'rate_limit_exceeded' : 'server_error'
  const response = {
    id: requestId,
    object: 'response',
    created_at: Math.floor(clock.now() / 1_000),
    status: 'failed',
    error: { code, message: error.message },
    incomplete_details: null,
    output: [],
    usage: null,
  }
  const data = { type: 'response.failed', sequence_number: events, response }
  return `event: response.failed\ndata: ${JSON.stringify(data)}\n\n`
}

/** Reads an error body: OpenAI's object, or xAI's bare text with a code. Null for any other format. */
export function errorIn(json: unknown): ProviderError | null {
  if (!isObject(json)) return null
  if (typeof json.error === 'string') return { message: json.error, ...codeOf(json.code) }
  const { error } = json
  return isObject(error) && typeof error.message === 'string'
    ? { message: error.message, ...codeOf(error.code ?? error.type), ...paramOf(error) }
    : null
}

/** Reads an `error` event, flat or nested as in a body, or the `error` of a failed response. */
export function failureIn(json: Json): ProviderError {
  const { code, message } = json
  return typeof message === 'string'
    ? { message, ...codeOf(code) }
    : (errorIn(json) ?? { message: JSON.stringify(json), code: null, status: null })
}

function codeOf(code: unknown): Pick<ProviderError, 'code' | 'status'> {
  const text = errorCode(code)
  const status = text !== null && Object.hasOwn(STATUSES, text) ? STATUSES[text]! : errorStatus(code)
  return { code: text, status }
}
