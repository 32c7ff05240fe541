// Errors of OpenAI's responses: as a body, as an event that ends a stream, and how each is read. Shapes: OpenAI API
// reference, "Errors" and "Streaming events".
import type { ProviderError } from '../../call.ts'
import type { GatewayError } from '../../errors.ts'
import { errorCode, errorStatus, isObject, type Json } from '../json.ts'

/** What a code of an error inside a 200 stands for; any other may be a failure as well as a refusal. */
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
 * An error of the gateway itself behind `events` others, as the event that ends a stream. Codex reads no event called
 * `error` and would take the stream for one that was cut. The id is that of the request: that of the response may not
 * have been told.
 */
export function failedEvent(error: GatewayError, requestId: string, events: number): string {
  const code = error.status === 429 ? 'rate_limit_exceeded' : 'server_error'
  const response = {
    id: requestId,
    object: 'response',
    created_at: Math.floor(Date.now() / 1_000),
    status: 'failed',
    error: { code, message: error.message },
    incomplete_details: null,
    output: [],
    usage: null,
  }
  const data = { type: 'response.failed', sequence_number: events, response }
  return `event: response.failed\ndata: ${JSON.stringify(data)}\n\n`
}

/** The body of an error: OpenAI's object, or the bare text that xAI sends beside its code. Null for what has another shape. */
export function errorIn(json: unknown): ProviderError | null {
  if (!isObject(json)) return null
  if (typeof json.error === 'string') return { message: json.error, ...codeOf(json.code) }
  const { error } = json
  return isObject(error) && typeof error.message === 'string'
    ? { message: error.message, ...codeOf(error.code ?? error.type) }
    : null
}

/** What is in an `error` event, flat or as in a body, or in the `error` of a response that failed. */
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
