// Gives the client what came of a call, to the last byte: a stream, a whole answer, or what failed. Knows the
// three cases and says how each goes into the record; writes nothing but the moment a stream begins.
import type { ServerResponse } from 'node:http'
import type { AttemptEnd, Call, Outcome, Route } from '../call.ts'
import { GatewayError } from '../errors.ts'
import type { Caller } from '../http/auth.ts'
import { relayStream } from '../http/relay.ts'
import { liveHeaders, replyError, replyRelayed } from '../http/reply.ts'
import type { Failure, Streaming, Whole } from '../providers/exchange.ts'
import type { Sent } from '../providers/send.ts'
import { maskSecrets } from '../redact.ts'
import type { CallHouse } from './house.ts'

export interface Answering {
  readonly call: Call
  readonly route: Route
  readonly response: ServerResponse
  readonly house: CallHouse
  readonly caller: Caller
  readonly streamOptions: { readonly include_usage?: boolean | null | undefined } | null
  /** Milliseconds since the call arrived. */
  readonly elapsed: () => number
}

/** How the call ended for the client, and how its last attempt did. */
export interface Answered {
  readonly outcome: Omit<Outcome, 'latencyMs' | 'tokens'>
  readonly attempt: AttemptEnd
}

/** Never rejects. */
export function answerClient(sent: Sent, answering: Answering): Promise<Answered> | Answered {
  const { answer } = sent
  if (answer.kind === 'stream') return answerStream(answer, sent, answering)
  if (answer.kind === 'failure') return answerFailure(answer, sent, answering)
  return answer.reading ? answerWhole(answer, sent, answering) : answerRefusal(answer, sent, answering)
}

async function answerStream(
  { status, headers, exchange }: Extract<Sent['answer'], Streaming>,
  { target, n }: Sent,
  answering: Answering,
): Promise<Answered> {
  const { call, route, response, house, streamOptions, elapsed } = answering
  response.writeHead(status, { ...liveHeaders(call, route, target, n, headers), 'cache-control': 'no-store' })
  const ttftMs = elapsed()
  house.store.write({ kind: 'streaming', id: call.id, ttftMs })
  const { state, errorCode, model, tokens } = await relayStream(response, exchange, {
    withholdUsage: streamOptions?.include_usage !== true,
    secrets: secretsOf(answering),
    idle: house.config.resilience.idle,
    requestId: call.id,
  })
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

function answerWhole(
  { status, headers, body, reading }: Whole,
  { target, n }: Sent,
  answering: Answering,
): Answered {
  const { call, route, response, elapsed } = answering
  const ttftMs = elapsed()
  replyRelayed(response, status, body, liveHeaders(call, route, target, n, headers))
  const { tokens, model } = reading!
  return {
    outcome: { state: 'completed', status, errorCode: null, responseModel: model, ttftMs },
    attempt: { outcome: 'answered', status, errorCode: null, tokens },
  }
}

/** A final error status of the provider: its own words where they have OpenAI's shape, wrapped where not. */
function answerRefusal(answer: Whole, sent: Sent, answering: Answering): Answered {
  const { status } = answer
  const { dialect } = answering.house.providers.get(sent.target.provider)!
  const error = dialect.readError(answer.body.toString('utf8'))
  const errorCode =
    relayError(status, answer.body, error !== null, answer.headers, sent, answering) ?? error!.code
  return {
    outcome: { state: 'failed', status, errorCode, responseModel: null, ttftMs: null },
    attempt: { outcome: 'failed', status, errorCode, tokens: null },
  }
}

function answerFailure(failure: Failure, sent: Sent, answering: Answering): Answered {
  const { response, call, route } = answering
  const attempt = sent.failed!
  if (failure.code === 'client_closed') {
    response.destroy()
    const outcome = {
      state: 'aborted',
      status: 499,
      errorCode: 'client_closed',
      responseModel: null,
      ttftMs: null,
    } as const
    return { outcome, attempt }
  }
  // An error that came with a 200 has no status of its own; the provider may have said which one it stands for.
  const said =
    failure.status !== null && failure.status >= 400 ? failure.status : (failure.error?.status ?? 502)
  if (failure.body && failure.code === 'upstream_error') {
    const code = relayError(said, failure.body, failure.error !== null, failure.headers, sent, answering)
    const errorCode = code ?? failure.error!.code ?? 'upstream_error'
    return {
      outcome: { state: 'failed', status: said, errorCode, responseModel: null, ttftMs: null },
      attempt,
    }
  }
  const error = new GatewayError(failure.code, maskSecrets(`${failure.message}.`, secretsOf(answering)))
  replyError(response, error, call.id, liveHeaders(call, route, sent.target, sent.n, {}))
  return {
    outcome: {
      state: 'failed',
      status: error.status,
      errorCode: error.code,
      responseModel: null,
      ttftMs: null,
    },
    attempt,
  }
}

/** Relays an error body that has OpenAI's shape and returns null, or wraps its text and returns our code for it. */
function relayError(
  status: number,
  body: Buffer,
  shaped: boolean,
  provider: Failure['headers'],
  { target, n }: Sent,
  answering: Answering,
): string | null {
  const { call, route, response } = answering
  const headers = liveHeaders(call, route, target, n, provider)
  const text = maskSecrets(body.toString('utf8'), secretsOf(answering))
  if (shaped) {
    replyRelayed(response, status, Buffer.from(text), { ...headers, 'content-type': 'application/json' })
    return null
  }
  const message = `${target.provider} answered with status ${status}: ${text.slice(0, 2_000).trim() || 'no body'}`
  const error = new GatewayError('upstream_error', message, { status })
  replyError(response, error, call.id, { ...headers, 'content-type': 'application/json' })
  return error.code
}

/** Every provider's key and the caller's own: what must not be repeated to the client. */
function secretsOf({ house, caller }: Answering): string[] {
  const keys = [...house.providers.values()].map(({ key }) => key)
  return [...keys, caller.key].filter((key) => key !== null)
}
