// Gives the client what came of a call, to the last byte: a stream, a whole answer, or what failed. Knows the
// three cases and says how each goes into the record; writes nothing but the moment a stream begins. Over 250 lines,
// because the three cases share headers, masking and errors.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Recorder } from '../cache/recorder.ts'
import type { CachedAnswer } from '../cache/response-cache.ts'
import type { AttemptEnd, Call, CallOutcome, ParsedEvent, ProviderError, Route, StreamPart } from '../call.ts'
import type { RouteConfig } from '../config.ts'
import type { ClientDialect, ClientRequest } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import { eventsOf, type RelayOptions, type RelayResult, relayStream } from '../http/relay.ts'
import { delivered, replyError, replyRelayed, routeHeaders, withLosses } from '../http/reply.ts'
import { type Failure, MOST_ERROR, type Streaming, type Whole } from '../providers/attempt-result.ts'
import type { Provider, SendResult } from '../providers/send.ts'
import { type Mask, maskBody, maskJson } from '../redact.ts'
import { completed, Transcript } from '../token-estimate.ts'
import type { CallContext } from './context.ts'
import { renameAnswer, renameEvent } from './rename-model.ts'

/** A call that is on record and waits for its answer. */
export interface Answering {
  readonly dialect: ClientDialect
  readonly request: ClientRequest
  readonly call: Call
  readonly route: Route
  readonly response: ServerResponse
  readonly context: CallContext
  readonly answerModel: RouteConfig['answer_model']
  /** What the cache knows the request by; null where its answer is not kept. */
  readonly cacheName: string | null
  /** Milliseconds since the call arrived. */
  elapsed(): number
  /** The client has its answer, or has gone. */
  answered(result: AnswerResult): void
  /** The step as it may be called from outside: what it throws is a fault of the gateway, which ends the call. */
  guard<Given>(step: (given: Given) => void): (given: Given) => void
}

/** How the call ended for the client, and how its last attempt did. */
export interface AnswerResult {
  readonly outcome: Omit<CallOutcome, 'latencyMs' | 'tokens'>
  readonly attempt: AttemptEnd
}

/** Tells `answering.answered`. Throws only when the gateway itself is at fault. */
export function answerClient(result: SendResult, answering: Answering): void {
  const { answer } = result
  if (answer.kind === 'stream') answerStream(answer, result, answering)
  else if (answer.kind === 'failure') answering.answered(answerFailure(answer, result, answering))
  else if (answer.parsed) answerWhole(answer, result, answering)
  else answering.answered(answerRefusal(answer, result, answering))
}

function answerStream(
  { status, headers, exchange }: Extract<SendResult['answer'], Streaming>,
  result: SendResult,
  answering: Answering,
): void {
  const { call, dialect, request, response, context, cacheName } = answering
  const transcript = new Transcript()
  const recorder = cacheName === null || status !== 200 ? null : new Recorder(context.cache.maxAnswer)
  response.writeHead(status, { ...headersOf(headers, result, answering), 'cache-control': 'no-store' })
  const ttftMs = answering.elapsed()
  context.store.write({ kind: 'streaming', id: call.id, ttftMs })
  const options: RelayOptions = {
    withholdUsage: !request.wantsUsage,
    show: partAsSent(answering, providerOf(result, answering), result.translation !== null),
    errorEvent: (error, events) => dialect.errorEvent(error, call.id, events),
    ping: result.translation && (dialect.ping ?? COMMENT),
    idle: context.config.resilience.idle,
    onPart(bytes, parsed) {
      if (parsed) transcript.add(parsed.text)
      recorder?.add(bytes, parsed)
    },
  }
  const relayed = answering.guard((relayed: RelayResult) => {
    const { state, errorCode, model, responseId } = relayed
    let { tokens } = relayed
    if (state === 'completed') saveToCache(recorder?.parts() ?? null, headers, relayed, result, answering)
    else tokens = completed(tokens, () => dialect.estimateInput(request), transcript.tokens)
    answering.answered({
      outcome: {
        state,
        status: state === 'aborted' ? 499 : status,
        errorCode,
        responseModel: model,
        responseId,
        ttftMs,
      },
      attempt: { outcome: outcomeOf(relayed), status, errorCode, tokens },
    })
  })
  relayStream(response, exchange, options, relayed)
}

function outcomeOf({ state, errorCode }: RelayResult): AttemptEnd['outcome'] {
  if (state === 'completed') return 'answered'
  if (state === 'aborted') return 'aborted'
  return errorCode === 'upstream_timeout' ? 'timed_out' : 'failed'
}

/** Keeps a connection alive and says nothing, in every dialect that has no word of its own for it. */
const COMMENT = ': ping\n\n'

/** How a part of a stream goes to the client: as it came, but for a model to be renamed and a key to be hidden. */
function partAsSent(
  { dialect, answerModel, call, context: { mask } }: Answering,
  { keyBytes }: Provider,
  isTranslated: boolean,
): (part: StreamPart) => Buffer {
  const rename = answerModel === 'requested' ? renameEvent(dialect, call.requestedModel) : null
  let events = 0
  const shortErrorEvent = ({ code, message, status }: ProviderError) => {
    const ours = code === 'upstream_invalid' ? code : 'upstream_error'
    const options = isTranslated && status !== null ? { status } : {}
    const error = new GatewayError(ours, mask(message.slice(0, 2_000)), options)
    return dialect.errorEvent(error, call.id, events - 1)
  }
  return ({ bytes, parsed }) => {
    if (parsed) events += eventsOf(parsed)
    // An error that long is told in our words: every call would wait while it is searched for secrets.
    if (parsed?.error && (isTranslated || bytes.length > MOST_ERROR))
      return Buffer.from(shortErrorEvent(parsed.error))
    if (parsed?.error || holdsKey(bytes, keyBytes)) return maskBytes(bytes, mask)
    return rename && parsed ? rename(bytes, parsed) : bytes
  }
}

/** A provider may repeat its key, though none does in an answer; looking for it takes no time. */
const holdsKey = (bytes: Buffer, key: Buffer | null): boolean => key !== null && bytes.includes(key)

const maskBytes = (bytes: Buffer, mask: Mask): Buffer => Buffer.from(maskBody(bytes.toString('utf8'), mask))

function answerWhole(answer: Whole, result: SendResult, answering: Answering): void {
  const { status, headers, parsed } = answer
  const { call, dialect, response, context } = answering
  const ttftMs = answering.elapsed()
  const { tokens, model, responseId = null, finished, unusual } = parsed!
  let bytes = answer.body
  if (answering.answerModel === 'requested')
    bytes = renameAnswer(dialect, call.requestedModel)(bytes, parsed!)
  if (holdsKey(bytes, providerOf(result, answering).keyBytes)) bytes = maskBytes(bytes, context.mask)
  replyRelayed(response, status, bytes, headersOf(headers, result, answering))
  if (!call.stream && status === 200 && finished && !unusual)
    saveToCache([{ bytes, usageOnly: false }], headers, parsed!, result, answering)
  const attempt: AttemptEnd = { outcome: 'answered', status, errorCode: null, tokens }
  delivered(response, context.config.resilience.idle, (whole) =>
    answering.answered({
      outcome: { ...ending(whole, status), responseModel: model, responseId, ttftMs },
      attempt,
    }),
  )
}

/** How a call ended whose answer was there: with its client, unless that had gone. */
export const ending = (whole: boolean, status: number) =>
  whole
    ? ({ state: 'completed', status, errorCode: null } as const)
    : ({ state: 'aborted', status: 499, errorCode: 'client_closed' } as const)

/** Puts a complete answer into the cache, where it is to be kept. */
function saveToCache(
  parts: CachedAnswer['parts'] | null,
  headers: Failure['headers'],
  { model, tokens }: Pick<ParsedEvent, 'model' | 'tokens'>,
  { from, translation }: SendResult,
  { cacheName, context }: Answering,
): void {
  if (cacheName === null || parts === null) return
  const losses = translation?.losses ?? []
  context.cache.set(cacheName, from, { contentType: headers['content-type'], parts, model, tokens, losses })
}

/** A final error status of the provider. */
function answerRefusal(
  { status, headers, body }: Whole,
  result: SendResult,
  answering: Answering,
): AnswerResult {
  const errorCode = relayError(status, body, headers, result, answering)
  return {
    outcome: { state: 'failed', status, errorCode, responseModel: null, ttftMs: null },
    attempt: { outcome: 'failed', status, errorCode, tokens: null },
  }
}

/** No target answered: the last thing that a provider said, or what happened in our own words. */
function answerFailure(failure: Failure, result: SendResult, answering: Answering): AnswerResult {
  const { response, call } = answering
  const attempt = result.failed!
  const ended = (
    status: number,
    errorCode: string,
    state: 'failed' | 'aborted' = 'failed',
  ): AnswerResult => ({
    outcome: { state, status, errorCode, responseModel: null, ttftMs: null },
    attempt,
  })
  if (failure.code === 'client_closed') {
    response.destroy()
    return ended(499, 'client_closed', 'aborted')
  }
  if (failure.body) {
    // An error that came with a 200 has no status of its own; the provider may say which one it stands for.
    const { status, error, headers, body } = failure
    const stands = status !== null && status >= 400 ? status : (error?.status ?? 502)
    return ended(stands, relayError(stands, body, headers, result, answering))
  }
  const error = new GatewayError(failure.code, answering.context.mask(`${failure.message}.`))
  replyError(response, error, call.id, answering.dialect, headersOf({}, result, answering))
  return ended(error.status, error.code)
}

/** Relays an error of the dialect, wraps the text of any other; returns the code that the client sees. */
function relayError(
  status: number,
  body: Buffer,
  provider: Failure['headers'],
  result: SendResult,
  answering: Answering,
): string {
  const { call, dialect, response, context } = answering
  const headers: OutgoingHttpHeaders = {
    ...headersOf(provider, result, answering),
    'content-type': 'application/json',
  }
  // Agents that are not told when to come back ask again at once; by itself, the gateway would come back then.
  if (status === 429) headers['retry-after'] ??= String(Math.ceil(context.config.resilience.cooldown / 1_000))
  const isShort = body.length <= MOST_ERROR
  const text = isShort
    ? maskJson(body.toString('utf8'), context.mask)
    : context.mask(body.toString('utf8', 0, MOST_QUOTED))
  const error = isShort ? upstreamOf(result, answering).readError(text) : null
  if (error && upstreamOf(result, answering).translation) {
    const told = new GatewayError('upstream_error', error.message, { status })
    replyError(response, told, call.id, dialect, headers)
    return error.code ?? told.code
  }
  if (error) {
    replyRelayed(response, status, Buffer.from(text), headers)
    return error.code ?? 'upstream_error'
  }
  const message = `${result.from.provider} answered with status ${status}: ${text.slice(0, 2_000).trim() || 'no body'}`
  const wrapped = new GatewayError('upstream_error', message, { status })
  replyError(response, wrapped, call.id, dialect, headers)
  return wrapped.code
}

/** Bytes of an error that are looked at for what is quoted of it. */
const MOST_QUOTED = 16_384

/** Whose answer it is. */
const providerOf = ({ from }: SendResult, { context }: Answering): Provider =>
  context.providers.get(from.provider)!

const upstreamOf = (result: SendResult, answering: Answering) =>
  providerOf(result, answering).dialects.get(answering.dialect.name)!

/** The headers of the response: they name the last target tried, even if the body comes from another one or from us. */
const headersOf = (provider: Failure['headers'], result: SendResult, answering: Answering) => {
  const { call, route, context } = answering
  const { relayedHeaders } = upstreamOf(result, answering)
  const { target, requestsSent, translation } = result
  const headers = routeHeaders(call, route, target, requestsSent, provider, relayedHeaders, context.mask)
  // A client may take a failure without a request id for one that is not worth another try; many providers send none.
  const { requestIdHeader } = answering.dialect
  if (translation || !headers[requestIdHeader]) headers[requestIdHeader] = call.id
  return withLosses(headers, translation?.losses ?? [])
}
