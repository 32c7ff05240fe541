// What an attempt came to, as values: a stream that has begun, a whole answer, or a failure. Pure.
import type { IncomingHttpHeaders } from 'node:http'
import { holdsMoreValues } from '../bounded-json.ts'
import type { AttemptOutcome, ParsedEvent, ProviderError } from '../call.ts'
import type { UpstreamDialect } from '../dialects/dialect.ts'
import type { ErrorCode } from '../errors.ts'

/** How a provider's answer begins. */
export interface StatusAndHeaders {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** A stream has begun: its first event is there and is no error. */
export interface Streaming extends StatusAndHeaders {
  readonly kind: 'stream'
}

/** A complete answer: a 2xx that is not streamed, or any error status. */
export interface Whole extends StatusAndHeaders {
  readonly kind: 'whole'
  readonly body: Buffer
  /** Null where the status is not 2xx. */
  readonly parsed: ParsedEvent | null
}

/** A failed attempt: what to record, and what to answer when nothing better comes. */
export interface Failure {
  readonly kind: 'failure'
  readonly outcome: Exclude<AttemptOutcome, 'open' | 'answered'>
  readonly code: ErrorCode
  readonly message: string
  /** The provider's HTTP status and headers, where an answer came. */
  readonly status: number | null
  readonly headers: IncomingHttpHeaders
  /** The error that the provider sent with it, as bytes to relay and as read. */
  readonly body: Buffer | null
  readonly error: ProviderError | null
}

export type AttemptResult = Streaming | Whole | Failure

/** A failure that is told in our own words. */
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
  }
}

/** An error that a provider reported inside a 200, in an answer or in the first event of a stream. */
export function reported(error: ProviderError, body: Buffer, response: StatusAndHeaders): Failure {
  return { ...failure('failed', 'upstream_error', error.message, response), body, error }
}

/** JSON values that an answer may hold: with the log probabilities of a long one some hundred thousand. */
const MOST_VALUES = 1_000_000

/** Judges an answer that is not a stream. */
export function judgeWhole(
  response: StatusAndHeaders,
  body: Buffer,
  dialect: UpstreamDialect,
): Whole | Failure {
  const { status, headers } = response
  if (status >= 400) return { kind: 'whole', status, headers, body, parsed: null }
  const invalid = (why: string) => failure('failed', 'upstream_invalid', `a ${status} that ${why}`, response)
  if (status >= 300) return invalid('redirects elsewhere; check the base_url of the provider')
  const most = dialect.mostValues ?? MOST_VALUES
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

/** An error longer than this is not one to be taken apart, bytes. */
export const MOST_ERROR = 2 ** 20

/** Reads the body of an error status; null when it is not of the dialect. */
export const readError = (body: Buffer, dialect: UpstreamDialect): ProviderError | null =>
  body.length > MOST_ERROR ? null : dialect.readError(body.toString('utf8'))
