// Results of an attempt, as values: a stream that has begun, a whole answer, or a failure. Pure.
import type { IncomingHttpHeaders } from 'node:http'
import type { AttemptOutcome, ParsedEvent, ProviderError } from '../core/call.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { UpstreamDialect } from '../dialects/dialect.ts'
import { holdsMoreValues } from '../shared/bounded-json.ts'

/** Start of a provider's answer. */
export interface StatusAndHeaders {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** A stream whose first event has arrived and is not an error. */
export interface Streaming extends StatusAndHeaders {
  readonly kind: 'stream'
}

/** A complete answer: a 2xx that is not streamed, or any error status. */
export interface Whole extends StatusAndHeaders {
  readonly kind: 'whole'
  readonly body: Buffer
  /** Null if the status is not 2xx. */
  readonly parsed: ParsedEvent | null
}

/** A failed attempt: the facts to record, and the error to send if no other target answers. */
export interface Failure {
  readonly kind: 'failure'
  readonly outcome: Exclude<AttemptOutcome, 'open' | 'answered'>
  readonly code: ErrorCode
  readonly message: string
  /** The provider's HTTP status and headers, if it answered. */
  readonly status: number | null
  readonly headers: IncomingHttpHeaders
  /** The provider's error, both as bytes to relay and parsed. */
  readonly body: Buffer | null
  readonly error: ProviderError | null
  /** True if the gateway or the client aborted the attempt, which says nothing about the target. */
  readonly isGivenUp: boolean
}

export type AttemptResult = Streaming | Whole | Failure

/** Makes a failure with the gateway's own message. */
export function failure(
  outcome: Failure['outcome'],
  code: ErrorCode,
  message: string,
  response: StatusAndHeaders | null,
): Failure {
  return {
    kind: 'failure',
    outcome,
    code,
    message,
    status: response?.status ?? null,
    headers: response?.headers ?? {},
    body: null,
    error: null,
    isGivenUp: false,
  }
}

/** Makes a failure from an error in an answer with status 200, or in the first event of a stream. */
export function reported(reported: ProviderError, body: Buffer, response: StatusAndHeaders): Failure {
  const error = shortened(reported)
  return { ...failure('failed', 'upstream_error', error.message, response), body, error }
}

/** Maximum characters of a message that are searched for the reason of a refusal, with patterns of any kind. */
const MAX_MESSAGE_LENGTH = 8_192

const shortened = (error: ProviderError): ProviderError =>
  error.message.length <= MAX_MESSAGE_LENGTH
    ? error
    : { ...error, message: error.message.slice(0, MAX_MESSAGE_LENGTH) }

/** Maximum JSON values of an answer. A long answer with log probabilities has some hundred thousand. */
const MAX_VALUES = 1_000_000

/** Classifies an answer that is not a stream. */
export function judgeWhole(
  response: StatusAndHeaders,
  body: Buffer,
  dialect: UpstreamDialect,
): Whole | Failure {
  const { status, headers } = response
  if (status >= 400) return { kind: 'whole', status, headers, body, parsed: null }
  const invalid = (why: string) => failure('failed', 'upstream_invalid', `a ${status} that ${why}`, response)
  if (status >= 300) return invalid('redirects elsewhere; check the base_url of the provider')
  const most = dialect.mostValues ?? MAX_VALUES
  if (holdsMoreValues(body, most)) return invalid(`contains more than ${most} JSON values`)
  let parsed: ParsedEvent
  try {
    parsed = dialect.readAnswer(body.toString('utf8'))
  } catch {
    const type = headers['content-type'] ?? 'no content type'
    return invalid(`is not a JSON answer (${type}, ${body.length} bytes)`)
  }
  return parsed.error
    ? reported(parsed.error, body, response)
    : { kind: 'whole', status, headers, body: parsed.sent ?? body, parsed }
}

/** Maximum bytes of an error that is parsed. */
export const MAX_ERROR_BYTES = 2 ** 20

/** Parses the body of an error status, with the beginning of its message; null if it is not of the dialect. */
export function providerErrorIn(body: Buffer, dialect: UpstreamDialect): ProviderError | null {
  const error = body.length > MAX_ERROR_BYTES ? null : dialect.readError(body.toString('utf8'))
  return error && shortened(error)
}
