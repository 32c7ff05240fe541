// Results of an attempt, as values: a stream that has begun, a whole answer, or a failure. Pure.
import type { IncomingHttpHeaders } from 'node:http'
import { type AttemptOutcome, EMPTY_EVENT, type ParsedEvent, type ProviderError } from '../core/call.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { OtherForm, UpstreamDialect } from '../dialects/dialect.ts'
import { holdsMoreValues } from '../shared/bounded.ts'
import { EventReader } from './event-reader.ts'

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

/**
 * Classifies an answer that has arrived as a whole. `otherForm`: writes it as the client asked for it, if the provider
 * sent JSON for a stream, or events for a whole answer.
 */
export function judgeWhole(
  response: StatusAndHeaders,
  received: Buffer,
  dialect: UpstreamDialect,
  wantsStream: boolean,
  otherForm: () => OtherForm | undefined,
): Whole | Failure {
  const { status, headers } = response
  const unmarked = withoutMark(received)
  if (status >= 400) return { kind: 'whole', status, headers, body: unmarked, parsed: null }
  const body = withoutEndMark(unmarked)
  const invalid = (why: string) => failure('failed', 'upstream_invalid', `a ${status} that ${why}`, response)
  if (status >= 300) return invalid('redirects elsewhere; check the base_url of the provider')
  const most = dialect.mostValues ?? MAX_VALUES
  if (holdsMoreValues(body, most)) return invalid(`contains more than ${most} JSON values`)
  const isObject = body[0] === OPEN_BRACE // as nearly all answers are
  const isEvents = !isObject && formOf(body.toString('latin1', 0, MAX_BEGIN_BYTES)) === 'events'
  const form = isEvents || wantsStream ? otherForm() : undefined
  let parsed: ParsedEvent
  try {
    if (form) parsed = isEvents ? wholeOf(body, form) : form.asStream(body.toString('utf8'))
    else parsed = dialect.readAnswer(body.toString('utf8'))
  } catch {
    const type = headers['content-type'] ?? 'no content type'
    return invalid(`is not a JSON answer (${type}, ${body.length} bytes)`)
  }
  return parsed.error
    ? reported(parsed.error, body, response)
    : {
        kind: 'whole',
        status,
        headers:
          form || headers['content-type'] ? labelled(headers, 'application/json', /\bjson\b/i) : headers,
        body: parsed.sent ?? body,
        parsed,
      }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** Removes a byte order mark, which parsers of JSON refuse. */
const withoutMark = (body: Buffer): Buffer =>
  body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? body.subarray(3) : body

/** Returns headers with a content type that is true. */
export const labelled = (headers: IncomingHttpHeaders, type: string, isTrue: RegExp): IncomingHttpHeaders =>
  isTrue.test(headers['content-type'] ?? '') ? headers : { ...headers, 'content-type': type }

/** Maximum bytes at the beginning of a body that are searched for its form: white space, and a word. */
export const MAX_BEGIN_BYTES = 1_024

/**
 * Returns the form of a body by its beginning, whatever its label says; null if it cannot be known yet. Only a beginning
 * that tells nothing, such as blank lines, has the form of its label.
 */
export function formOf(begin: string, label = ''): 'events' | 'whole' | null {
  const text = begin.replace(/^(\xef\xbb\xbf)?\s*/, '')
  if (/^[{[]/.test(text)) return 'whole'
  if (/^(:|(data|event|id|retry)\s*(:|\n|\r))/.test(text)) return 'events'
  const isOpen = ['data:', 'event:', 'id:', 'retry:'].some((word) => word.startsWith(text))
  if (isOpen && begin.length < MAX_BEGIN_BYTES) return null
  return /^text\/event-stream\b/i.test(label) ? 'events' : 'whole'
}

const [OPEN_BRACE, CLOSE_BRACE] = Buffer.from('{}') as unknown as [number, number]

/** Maximum bytes of an end mark with its surroundings. */
const MAX_MARK_BYTES = 64

/** Removes the end mark of a stream, which some servers also send after a whole answer. */
export function withoutEndMark(body: Buffer): Buffer {
  if (body.at(-1) === CLOSE_BRACE) return body
  const end = body.subarray(-MAX_MARK_BYTES).toString('latin1')
  const mark = /\s*data: *\[DONE\]\s*$/.exec(end)
  const isWhole = mark !== null && formOf(body.toString('latin1', 0, MAX_BEGIN_BYTES)) === 'whole'
  return isWhole ? body.subarray(0, body.length - mark[0].length) : body
}

/** Makes a whole answer of events. */
function wholeOf(body: Buffer, form: OtherForm): ParsedEvent {
  const whole = form.openWhole()
  const reader = new EventReader(whole)
  const parts = [...reader.push(body), ...reader.rest()]
  const error = parts.find(({ parsed }) => parsed?.error)?.parsed?.error
  return error ? { ...EMPTY_EVENT, error } : whole.answer()
}

/** Maximum bytes of an error that is parsed. */
export const MAX_ERROR_BYTES = 2 ** 20

/** Parses the body of an error status, with the beginning of its message; null if it is not of the dialect. */
export function providerErrorIn(body: Buffer, dialect: UpstreamDialect): ProviderError | null {
  const error = body.length > MAX_ERROR_BYTES ? null : dialect.readError(body.toString('utf8'))
  return error && shortened(error)
}
