// Gives the client what came of a call, to the last byte: a stream, a whole answer, or what failed. Knows the
// three cases and says how each goes into the record; writes nothing but the moment a stream begins.
import type { ServerResponse } from 'node:http'
import { Recorder } from '../cache/recorder.ts'
import type { CachedAnswer } from '../cache/response-cache.ts'
import type { AttemptEnd, Call, CallOutcome, ParsedEvent, Route } from '../call.ts'
import type { RouteConfig } from '../config.ts'
import { GatewayError } from '../errors.ts'
import { relayStream } from '../http/relay.ts'
import { delivered, replyError, replyRelayed, routeHeaders } from '../http/reply.ts'
import type { Failure, Streaming, Whole } from '../providers/attempt-result.ts'
import type { SendResult } from '../providers/send.ts'
import { maskJson } from '../redact.ts'
import type { RequestTraits } from '../routing/request-traits.ts'
import { estimated, Transcript } from '../token-estimate.ts'
import { renameAnswer, renameEvent } from './answer-model.ts'
import type { CallContext } from './context.ts'

export interface Answering {
  readonly call: Call
  readonly route: Route
  readonly response: ServerResponse
  readonly context: CallContext
  readonly traits: RequestTraits
  readonly answerModel: RouteConfig['answer_model']
  /** What the cache knows the request by; null where its answer is not kept. */
  readonly cacheName: string | null
  readonly streamOptions: { readonly include_usage?: boolean | null | undefined } | null
  /** Milliseconds since the call arrived. */
  readonly elapsed: () => number
}

/** How the call ended for the client, and how its last attempt did. */
export interface AnswerResult {
  readonly outcome: Omit<CallOutcome, 'latencyMs' | 'tokens'>
  readonly attempt: AttemptEnd
}

/** Rejects only when the gateway itself is at fault. */
export async function answerClient(result: SendResult, answering: Answering): Promise<AnswerResult> {
  const { answer } = result
  if (answer.kind === 'stream') return answerStream(answer, result, answering)
  if (answer.kind === 'failure') return answerFailure(answer, result, answering)
  return answer.parsed ? answerWhole(answer, result, answering) : answerRefusal(answer, result, answering)
}

async function answerStream(
  { status, headers, exchange }: Extract<SendResult['answer'], Streaming>,
  result: SendResult,
  answering: Answering,
): Promise<AnswerResult> {
  const { call, response, context, traits, cacheName, streamOptions, elapsed } = answering
  const transcript = new Transcript()
  const recorder = cacheName === null || status !== 200 ? null : new Recorder(context.cache.maxAnswer)
  response.writeHead(status, { ...headersOf(headers, result, answering), 'cache-control': 'no-store' })
  const ttftMs = elapsed()
  context.store.write({ kind: 'streaming', id: call.id, ttftMs })
  const relayed = await relayStream(response, exchange, {
    withholdUsage: streamOptions?.include_usage !== true,
    mask: context.mask,
    rewrite: answering.answerModel === 'requested' ? renameEvent(call.requestedModel) : undefined,
    idle: context.config.resilience.idle,
    requestId: call.id,
    onEvent(bytes, parsed) {
      transcript.add(parsed.text)
      recorder?.add(bytes, parsed)
    },
  })
  const { state, errorCode, model } = relayed
  let { tokens } = relayed
  if (state === 'completed') saveToCache(recorder?.parts() ?? null, headers, relayed, result, answering)
  else tokens ??= estimated(traits.inputTokens, transcript.tokens)
  const outcome =
    state === 'completed'
      ? 'answered'
      : state === 'aborted'
        ? 'aborted'
        : errorCode === 'upstream_timeout'
          ? 'timed_out'
          : 'failed'
  return {
    outcome: { state, status: state === 'aborted' ? 499 : status, errorCode, responseModel: model, ttftMs },
    attempt: { outcome, status, errorCode, tokens },
  }
}

async function answerWhole(answer: Whole, result: SendResult, answering: Answering): Promise<AnswerResult> {
  const { status, headers, body, parsed } = answer
  const { call, response, context, elapsed } = answering
  const ttftMs = elapsed()
  const { tokens, model, finished, unusual } = parsed!
  const bytes =
    answering.answerModel === 'requested' ? renameAnswer(call.requestedModel)(body, parsed!) : body
  replyRelayed(response, status, bytes, headersOf(headers, result, answering))
  if (!call.stream && status === 200 && finished && !unusual)
    saveToCache([{ bytes, usageOnly: false }], headers, parsed!, result, answering)
  const attempt: AttemptEnd = { outcome: 'answered', status, errorCode: null, tokens }
  return (await delivered(response, context.config.resilience.idle))
    ? { outcome: { state: 'completed', status, errorCode: null, responseModel: model, ttftMs }, attempt }
    : {
        outcome: { state: 'aborted', status: 499, errorCode: 'client_closed', responseModel: model, ttftMs },
        attempt,
      }
}

/** Puts a complete answer into the cache, where it is to be kept. */
function saveToCache(
  parts: CachedAnswer['parts'] | null,
  headers: Failure['headers'],
  { model, tokens }: Pick<ParsedEvent, 'model' | 'tokens'>,
  { from }: SendResult,
  { cacheName, context }: Answering,
): void {
  if (cacheName === null || parts === null) return
  context.cache.set(cacheName, from, { contentType: headers['content-type'], parts, model, tokens })
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
  replyError(response, error, call.id, headersOf({}, result, answering))
  return ended(error.status, error.code)
}

/** Relays an error body that has OpenAI's shape, wraps the text of any other; returns the code that the client sees. */
function relayError(
  status: number,
  body: Buffer,
  provider: Failure['headers'],
  result: SendResult,
  answering: Answering,
): string {
  const { call, response, context } = answering
  const headers = { ...headersOf(provider, result, answering), 'content-type': 'application/json' }
  const text = maskJson(body.toString('utf8'), context.mask)
  const error = context.providers.get(result.from.provider)!.dialect.readError(text)
  if (error) {
    replyRelayed(response, status, Buffer.from(text), headers)
    return error.code ?? 'upstream_error'
  }
  const message = `${result.from.provider} answered with status ${status}: ${text.slice(0, 2_000).trim() || 'no body'}`
  const wrapped = new GatewayError('upstream_error', message, { status })
  replyError(response, wrapped, call.id, headers)
  return wrapped.code
}

/** The headers of the answer: they name the last target tried, whichever provider's words the body holds. */
const headersOf = (
  provider: Failure['headers'],
  { target, requestsSent }: SendResult,
  { call, route, context }: Answering,
) => routeHeaders(call, route, target, requestsSent, provider, context.mask)
