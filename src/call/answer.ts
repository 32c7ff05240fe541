// Sends the complete result of a call to the client: a stream, a whole answer, an error, or an answer from the cache. With
// `answer_model: requested` of a route, it names the requested model. Returns the values to record in each case, and the
// write that closes the record. The start of a stream is the only value written here.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { CachedAnswer } from '../cache/response-cache.ts'
import type { RouteConfig } from '../config/load.ts'
import type {
  AttemptEnd,
  Call,
  CallOutcome,
  ParsedEvent,
  ProviderError,
  Route,
  StreamPart,
  Tokens,
} from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { KnownCost } from '../core/record.ts'
import { completed, Transcript } from '../core/token-estimate.ts'
import type { ClientRequest } from '../dialects/blocks.ts'
import { type ClientDialect, COMMENT } from '../dialects/dialect.ts'
import { countEvents, type RelayOptions, type RelayResult, relayStream } from '../http/relay.ts'
import { delivered, encodeHeader, replyError, replyRelayed, routeHeaders, withLosses } from '../http/reply.ts'
import { JsonStructureError } from '../json/splice.ts'
import {
  type Failure,
  MAX_ERROR_BYTES,
  providerErrorIn,
  type Streaming,
  type Whole,
} from '../providers/attempt-result.ts'
import { lossesOf, type Provider, type SendResult, sentenceIn } from '../providers/send.ts'
import { waitingTime } from '../providers/waiting-time.ts'
import { detached, type REPORTED } from '../shared/boundary.ts'
import { isOtherModel } from '../shared/model-names.ts'
import type { Mask } from '../shared/redact.ts'
import { LARGE_BYTES } from '../shared/turns.ts'
import type { EndedAttempt, Write } from '../store/writes.ts'
import type { AnswerKeeping } from './answer-keeping.ts'
import type { CallContext } from './context.ts'

/** A recorded call that is waiting for its answer. */
export interface Answering {
  readonly dialect: ClientDialect
  readonly request: ClientRequest
  readonly call: Call
  readonly route: Route
  readonly response: ServerResponse
  readonly context: CallContext
  readonly answerModel: RouteConfig['answer_model']
  /** Cache key of the request; null if the answer is not cached. */
  readonly cacheName: string | null
  /** Recorder for the part of an answer that is written before its end. */
  readonly keeping: AnswerKeeping
  /** Records that the call continues at its provider. Resolves after the write. */
  runsOn(result: AnswerResult, responseId: string): Promise<void>
  /** Returns milliseconds since the call arrived. */
  elapsed(): number
  /** Called when a whole answer is written, so that only its unread bytes still take memory. */
  written(): void
  /** Called when the client has received its answer or has disconnected. */
  answered(result: AnswerResult): void
  /**
   * Wraps a step that other code calls. An exception in the step is a fault of the gateway and ends the call.
   */
  guard<Given>(step: (given: Given) => void): (given: Given) => void
  /** Ends the call after a fault of the gateway. */
  readonly broken: (error: unknown) => typeof REPORTED
}

/** Result of the call for the client, with the result of the last attempt. */
export interface AnswerResult {
  readonly outcome: Omit<CallOutcome, 'latencyMs' | 'tokens'>
  readonly attempt: AttemptEnd
}

/** Reports to `answering.answered`. Throws only if the gateway itself fails. */
export function answerClient(result: SendResult, answering: Answering): void {
  const { answer, answerTranslation } = result
  if (answerTranslation) answering.keeping.translated()
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
  const recorder = cacheName === null || status !== 200 ? null : context.cache.recorder()
  response.writeHead(status, { ...headersOf(headers, result, answering), 'cache-control': 'no-store' })
  const ttftMs = answering.elapsed()
  detached(context.store.write({ kind: 'streaming', id: call.id, ttftMs }), answering.broken)
  const options: RelayOptions = {
    withholdUsage: !request.wantsUsage,
    show: partAsSent(answering, providerOf(result, answering), result.translation !== null),
    errorEvent: (error, events) => dialect.errorEvent(error, call.id, events),
    ping: result.translation && (dialect.ping ?? dialect.comment ?? COMMENT),
    idle: context.config.resilience.idle,
    keyName: call.keyName,
    onPart(bytes, parsed) {
      if (parsed) transcript.add(parsed.text)
      recorder?.add(bytes, parsed)
      answering.keeping.part(bytes, parsed)
    },
    beforeEnd: (parsed) => answering.keeping.beforeEnd(parsed, result.from),
  }
  const relayed = answering.guard((relayed: RelayResult) => {
    const { state, errorCode, model, responseId, containerId } = relayed
    let tokens = withTier(relayed.tokens, headers, result, answering)
    const parts = recorder?.parts() ?? null
    recorder?.close()
    if (state === 'completed') saveToCache(parts, headers, relayed, result, answering)
    else if (answering.request.isBackground && state === 'aborted' && responseId && !result.translation) {
      // The client has disconnected. The call continues in the background.
      const runs = answering
        .runsOn(running(status, model, ttftMs), responseId)
        .then(() => answering.answered(running(status, model, ttftMs)))
      detached(runs, answering.broken)
      return
    } else tokens = completed(tokens, () => dialect.estimateInput(request), transcript.tokens)
    answering.answered({
      outcome: {
        state,
        status: state === 'aborted' ? 499 : status,
        errorCode,
        responseModel: model,
        responseId,
        containerId,
        ttftMs,
      },
      attempt: {
        outcome: outcomeOf(relayed),
        status,
        errorCode,
        tokens,
        refusal: sentenceIn({ status, error: relayed.error }, request),
      },
    })
  })
  relayStream(response, exchange, options, relayed)
}

function outcomeOf({ state, errorCode }: RelayResult): AttemptEnd['outcome'] {
  if (state === 'completed') return 'answered'
  if (state === 'aborted') return 'aborted'
  return errorCode === 'upstream_timeout' ? 'timed_out' : 'failed'
}

/** Returns a part of a stream for the client, unchanged except for a renamed model or a masked key. */
function partAsSent(
  { dialect, answerModel, call, context: { mask } }: Answering,
  { credentials }: Provider,
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
    if (parsed) events += countEvents(parsed)
    // An error larger than `MAX_ERROR_BYTES` is replaced. Searching it for secrets would delay every call.
    if (parsed?.error && (isTranslated || bytes.length > MAX_ERROR_BYTES))
      return Buffer.from(shortErrorEvent(parsed.error))
    const shown = parsed?.error || credentials.holdsSecret(bytes) ? maskBytes(bytes, mask) : bytes
    return rename && parsed && !parsed.error ? rename(shown, parsed) : shown
  }
}

const maskBytes = (bytes: Buffer, mask: Mask): Buffer => Buffer.from(mask(bytes.toString('utf8')))

function answerWhole(answer: Whole, result: SendResult, answering: Answering): void {
  const { call, dialect, context } = answering
  let bytes = answer.body
  if (answering.answerModel === 'requested')
    bytes = renameAnswer(dialect, call.requestedModel)(bytes, answer.parsed!)
  if (providerOf(result, answering).credentials.holdsSecret(bytes)) bytes = maskBytes(bytes, context.mask)
  const named = answering.keeping.whole(bytes, answer.parsed!, result.from)
  const { finished, responseId, model } = answer.parsed!
  const runs = answering.request.isBackground && !finished && responseId && !result.translation
  const ready = runs
    ? Promise.all([named, answering.runsOn(running(answer.status, model, null), responseId)]).then(() => {})
    : named
  const send = () => sendWhole(bytes, answer, result, answering)
  if (ready) detached(ready.then(send), answering.broken)
  else send()
}

/** Returns the known part of the result, for a call that continues at its provider. */
const running = (status: number, model: string | null, ttftMs: number | null): AnswerResult => ({
  outcome: { state: 'completed', status, errorCode: null, responseModel: model, ttftMs },
  attempt: { outcome: 'answered', status, errorCode: null, tokens: null },
})

function sendWhole(bytes: Buffer, answer: Whole, result: SendResult, answering: Answering): void {
  const { status, headers, parsed } = answer
  const { call, response, context } = answering
  const ttftMs = answering.elapsed()
  const { model, responseId = null, containerId = null, finished, unusual } = parsed!
  const tokens = withTier(parsed!.tokens, headers, result, answering)
  const own = headersOf(headers, result, answering)
  if (isOtherModel(result.target.model, model))
    own['x-gateway-response-model'] = encodeHeader(context.mask(model).slice(0, MAX_NAME_LENGTH))
  replyRelayed(response, status, bytes, own)
  if (bytes.length > LARGE_BYTES) answering.written()
  if (!call.stream && status === 200 && finished && !unusual)
    saveToCache([{ bytes, usageOnly: false }], headers, parsed!, result, answering)
  const attempt: AttemptEnd = { outcome: 'answered', status, errorCode: null, tokens }
  delivered(response, call.keyName, context.config.resilience.idle, (whole) =>
    answering.answered({
      outcome: { ...ending(whole, status), responseModel: model, responseId, containerId, ttftMs },
      attempt,
    }),
  )
}

/** Maximum length of a model's name in a header, in characters. */
export const MAX_NAME_LENGTH = 256

/** Returns the outcome of a call whose answer was complete: `aborted` if the client has disconnected. */
export const ending = (whole: boolean, status: number) =>
  whole
    ? ({ state: 'completed', status, errorCode: null } as const)
    : ({ state: 'aborted', status: 499, errorCode: 'client_closed' } as const)

/** Adds the service tier from the headers of an answer. */
function withTier(
  tokens: Tokens | null,
  headers: Failure['headers'],
  result: SendResult,
  answering: Answering,
): Tokens | null {
  const tier = tokens && upstreamOf(result, answering).tierOf?.(headers)
  return tier ? { ...tokens, served: { ...tokens.served, service_tier: tier } } : tokens
}

/** Stores a complete answer in the cache, if the call is cacheable. */
function saveToCache(
  parts: CachedAnswer['parts'] | null,
  headers: Failure['headers'],
  { model, tokens }: Pick<ParsedEvent, 'model' | 'tokens'>,
  { from, translation, adjusted, renamed }: SendResult,
  { cacheName, context }: Answering,
): void {
  // What was left out because of a refusal may soon be accepted. A new name loses nothing.
  if (cacheName === null || parts === null || adjusted.length > renamed.length) return
  const losses = translation?.losses ?? []
  const contentType = headers['content-type']
  context.cache.set(cacheName, from, { contentType, parts, model, tokens, losses, renamed })
}

/** Relays a final error status of the provider. */
function answerRefusal(
  { status, headers, body }: Whole,
  result: SendResult,
  answering: Answering,
): AnswerResult {
  const errorCode = relayError(status, body, headers, result, answering)
  const error = providerErrorIn(body, upstreamOf(result, answering))
  const refusal = sentenceIn({ status, error }, answering.request)
  return {
    outcome: { state: 'failed', status, errorCode, responseModel: null, ttftMs: null },
    attempt: { outcome: 'failed', status, errorCode, tokens: null, refusal },
  }
}

/**
 * Handles a call that no target answered: relays the last provider's error, or sends the gateway's own error.
 */
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
    // An error inside a 200 has no HTTP status, but the error's content may name one.
    const { status, error, headers, body } = failure
    const stands = status !== null && status >= 400 ? status : (error?.status ?? 502)
    return ended(stands, relayError(stands, body, headers, result, answering))
  }
  const waitMs = REFUSED.includes(failure.code) ? waitingTime(failure) : null
  const error = new GatewayError(
    failure.code,
    answering.context.mask(`${failure.message}.`),
    waitMs === null ? {} : { retryAfter: Math.ceil(waitMs / 1_000) },
  )
  replyError(response, error, call.id, answering.dialect, headersOf({}, result, answering))
  return ended(error.status, error.code)
}

/** Errors of the gateway after which a client may wait as long as the provider said. */
const REFUSED = ['rate_limited', 'upstream_refused']

/** Statuses with which a provider asks clients to wait. */
const BUSY = [429, 503, 529]

/** Returns `Retry-After` for a client, in whole seconds; undefined if the provider's own stands. */
function retryAfterFor(
  { status, headers, body }: { status: number; headers: Failure['headers']; body: Buffer },
  cooldown: number,
): string | undefined {
  const own = headers['retry-after']
  // A number of seconds and a date are understood by every client.
  if (!BUSY.includes(status) || (own !== undefined && (/^\d+$/.test(own) || /^[A-Z][a-z]{2},/.test(own))))
    return undefined
  // Without this header, agents retry immediately. The gateway itself retries the target after its cooldown.
  const waitMs = waitingTime({ status, headers, body }) ?? (status === 429 ? cooldown : null)
  return waitMs === null ? undefined : String(Math.ceil(waitMs / 1_000))
}

/**
 * Relays an error that is in the client's dialect and wraps any other text. Returns the code for the client.
 */
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
  const retryAfter = retryAfterFor({ status, headers: provider, body }, context.config.resilience.cooldown)
  if (retryAfter !== undefined) headers['retry-after'] = retryAfter
  const isShort = body.length <= MAX_ERROR_BYTES
  const text = context.mask(body.toString('utf8', 0, isShort ? body.length : MAX_QUOTED_BYTES))
  const error = isShort ? upstreamOf(result, answering).readError(text) : null
  if (error && result.answerTranslation) {
    const seconds = Number(headers['retry-after'])
    const options = Number.isSafeInteger(seconds) ? { status, retryAfter: seconds } : { status }
    const told = new GatewayError('upstream_error', error.message, options)
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

/** Maximum bytes of an error that are searched for text to quote. */
const MAX_QUOTED_BYTES = 16_384

/** Returns the provider of the answer. */
const providerOf = ({ from }: SendResult, { context }: Answering): Provider =>
  context.providers.get(from.provider)!

const upstreamOf = (result: SendResult, answering: Answering) =>
  result.answerTranslation ?? providerOf(result, answering).dialects.get(answering.dialect.name)!

/**
 * Returns the response headers. The headers name the last target tried, even if another target or the gateway
 * wrote the body.
 */
const headersOf = (provider: Failure['headers'], result: SendResult, answering: Answering) => {
  const { call, route, context } = answering
  const { relayedHeaders } = upstreamOf(result, answering)
  const { target, requestsSent, translation } = result
  const headers = routeHeaders(call, route, target, requestsSent, provider, relayedHeaders, context.mask)
  // Some clients do not retry a failure without a request id, and many providers send none.
  const { requestIdHeader } = answering.dialect
  if (translation || !headers[requestIdHeader]) headers[requestIdHeader] = call.id
  if (result.adjusted.length > 0) headers['x-gateway-adjusted'] = result.adjusted.join(', ')
  return withLosses(headers, lossesOf(result) ?? [])
}

export type Closing = Extract<Write, { kind: 'close' }>

/** Returns the write that closes a call. `cost`: only if the target's price says nothing about it. */
export function closingOf(
  given: Omit<Closing, 'kind' | 'at' | 'cost' | 'earlier'> & {
    readonly cost?: Closing['cost'] | null
    readonly earlier?: KnownCost | null
  },
  { price, mask, now }: Pick<CallContext, 'price' | 'mask' | 'now'>,
): Closing {
  const at = now()
  const { target, ended, outcome, earlier } = given
  const closing: Closing = {
    kind: 'close',
    id: given.id,
    at,
    requestsSent: given.requestsSent,
    fallbacks: given.fallbacks,
    target,
    ended: ended && maskedEnd(ended, mask),
    cost: given.cost ?? price(target, (ended ?? outcome).tokens, at, outcome.responseModel),
    outcome: {
      state: outcome.state,
      status: outcome.status,
      errorCode: maskedCode(outcome.errorCode, mask),
      responseModel: maskedName(outcome.responseModel, mask),
      responseId: maskedName(outcome.responseId, mask),
      containerId: maskedName(outcome.containerId, mask),
      cacheLost: outcome.cacheLost ?? null,
      planLimits: outcome.planLimits ?? null,
      latencyMs: outcome.latencyMs,
      ttftMs: outcome.ttftMs,
      tokens: outcome.tokens,
    },
  }
  return earlier ? { ...closing, earlier } : closing
}

/** Returns the end of an attempt without secrets. */
export const maskedEnd = (ended: EndedAttempt, mask: Mask): EndedAttempt => ({
  n: ended.n,
  target: ended.target,
  outcome: ended.outcome,
  status: ended.status,
  errorCode: maskedCode(ended.errorCode, mask),
  refusal: maskedName(ended.refusal, mask),
  tokens: ended.tokens,
  losses: ended.losses ?? null,
  adjusted: ended.adjusted ?? null,
  credential: ended.credential ?? null,
  transport: ended.transport ?? null,
})

/** Masks an error code, because a provider may put anything into the code, even its key. */
export const maskedCode = (code: string | null, mask: Mask): string | null =>
  code === null ? null : mask(code)

/**
 * Maximum masked length of a model's name, an id or a sentence, in characters. The record stores fewer, so no secret is
 * cut in two.
 */
const MAX_MASKED_LENGTH = 4_096

const maskedName = (name: string | null | undefined, mask: Mask): string | null =>
  name ? mask(name.slice(0, MAX_MASKED_LENGTH)) : null

/** Returns an answer or an event with its model renamed. Returns it unchanged if it names no model. */
type Rename = (bytes: Buffer, parsed: ParsedEvent) => Buffer

type Renamer = Pick<ClientDialect, 'renameModel'>

// Encodes the model's name. Latin-1 maps each byte to one character, so invalid UTF-8 survives unchanged.
const asLatin1 = (model: string): string => Buffer.from(JSON.stringify(model)).toString('latin1')

/** Renames the model in a whole answer. */
export const renameAnswer =
  (dialect: Renamer, model: string): Rename =>
  (bytes, parsed) =>
    parsed.model === null
      ? bytes
      : Buffer.from(dialect.renameModel(bytes.toString('latin1'), asLatin1(model)), 'latin1')

/** A line of data. A byte order mark may precede the first line of a stream; a line with one elsewhere is no data. */
const DATA = /^((?:(?<![\s\S])\xef\xbb\xbf)?data: ?)(.*)$/gm

/**
 * Renames the model in an event. JSON on several `data:` lines stays on them, since no value contains a line
 * end.
 */
export const renameEvent =
  (dialect: Renamer, model: string): Rename =>
  (bytes, parsed) => {
    if (parsed.model === null) return bytes
    const text = bytes.toString('latin1')
    const before = [...text.matchAll(DATA)].map(([, , data]) => data)
    const lines = renamed(dialect, before.join('\n'), model)?.split('\n')
    if (lines?.length !== before.length) return bytes // a repeated member had a value on several lines
    const made = lines.values()
    return Buffer.from(
      text.replace(DATA, (_, field) => field + made.next().value),
      'latin1',
    )
  }

/** Returns the data with its model renamed; null if it is not JSON, because a later event begins with a byte order mark. */
function renamed(dialect: Renamer, data: string, model: string): string | null {
  try {
    return dialect.renameModel(data, asLatin1(model))
  } catch (error) {
    if (error instanceof JsonStructureError) return null
    throw error
  }
}

/** Throws only if the gateway itself fails. The `attempt` in the reported result is the original one. */
export function answerCached(
  { contentType, parts, model, tokens, losses, renamed }: CachedAnswer,
  answering: Answering,
): void {
  const { call, request, route, response, context } = answering
  const wanted = parts.filter(({ usageOnly }) => !usageOnly || request.wantsUsage)
  const headers = routeHeaders(
    call,
    route,
    route.candidates[0],
    0,
    { 'content-type': contentType },
    /^$/,
    context.mask,
  )
  withLosses(headers, losses)['cache-control'] = 'no-store'
  if (renamed.length > 0) headers['x-gateway-adjusted'] = renamed.join(', ')
  const body = wanted.length === 1 ? wanted[0]!.bytes : Buffer.concat(wanted.map(({ bytes }) => bytes))
  if (!call.stream) headers['content-length'] = body.length
  response.writeHead(200, headers)
  const ttftMs = answering.elapsed()
  response.end(body)
  delivered(response, call.keyName, context.config.resilience.idle, (whole) =>
    answering.answered({
      outcome: { ...ending(whole, 200), responseModel: model, ttftMs },
      attempt: { outcome: 'answered', status: 200, errorCode: null, tokens },
    }),
  )
}
