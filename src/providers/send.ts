// Walks the candidates of a route until one answers: which failure moves on, which is final, what cools a
// target down. Knows no client and no store; its listener is told what has to be recorded. Over 250 lines, because all
// that decides about the next attempt is here.
import type { Dispatcher } from 'undici'
import type { AnswerTrace } from '../artifact.ts'
import { type AttemptEnd, type Route, type Target, targetId } from '../call.ts'
import type { ClientRequest, Translation, UpstreamDialect } from '../dialects/dialect.ts'
import {
  type AttemptResult,
  type Failure,
  failure,
  readError,
  type Streaming,
  type Whole,
} from './attempt-result.ts'
import { Exchange, type TimeLimits } from './exchange.ts'
import { isUnknownModel } from './unknown-model.ts'

/** A provider, ready to be asked. */
export interface Provider {
  /** By their names: those that it speaks, and those that are translated for it. */
  readonly dialects: ReadonlyMap<string, UpstreamDialect>
  readonly dispatcher: Dispatcher
  readonly origin: string
  /** Path of the base URL, without a slash at the end. */
  readonly basePath: string
  readonly key: string | null
  /** The key as it would appear in an answer. */
  readonly keyBytes: Buffer | null
  /** It is told of the call's trace. */
  readonly trace: boolean
}

export interface SendOptions {
  /** Name of the dialect that every candidate is asked in. */
  readonly dialect: string
  readonly providers: ReadonlyMap<string, Provider>
  /** As they apply to this call. */
  readonly limits: TimeLimits
  /** Further tries of a target that could not be connected to. */
  readonly retries: number
  /** How long a target that failed is passed over, ms, where it does not say so itself. */
  readonly cooldown: number
  readonly listener: SendListener
}

/** Hears what happens to a call on its way. */
export interface SendListener {
  /** A request is made; what comes back is told to the trace that it returns. */
  trace(target: Target, path: string, headers: readonly string[], body: string): AnswerTrace
  /** What a provider is told of the trace by the n-th attempt, names and values in turn; asked for one that is to be told. */
  traceHeaders(n: number): readonly string[]
  /** It is about to leave for the target; aborting the exchange gives it up. False: the client has gone already. */
  sending(target: Target, exchange: Exchange): boolean
  /** The target failed and is to be passed over for `ms`. */
  failed(target: Target, ms: number): void
  /** Called before each attempt but the first leaves. False forbids it: nothing more is tried. */
  next(attempt: NextAttempt): Promise<boolean>
  /** This is what came of it; nothing more is told. */
  sent(result: SendResult): void
  /** A request could not be made at all; nothing more is told. */
  fault(thrown: unknown): void
}

/** An attempt that is about to leave, after the one before it failed. */
export interface NextAttempt {
  readonly n: number
  readonly target: Target
  /** Changes of target so far, this one included. */
  readonly fallbacks: number
  /** Attempts before this one whose request left. */
  readonly requestsSent: number
  readonly before: { readonly target: Target; readonly end: AttemptEnd }
}

/** What came of a call. */
export interface SendResult {
  /** The last attempt, and its target. */
  readonly n: number
  readonly target: Target
  /** Attempts whose request left, as far as is known. */
  readonly requestsSent: number
  /** Changes of target. */
  readonly fallbacks: number
  /** An earlier attempt may have used tokens that were not reported. */
  readonly unknownSpend: boolean
  /** The answer; or, when every target failed, the last thing that a provider answered. */
  readonly answer: Whole | (Streaming & { readonly exchange: Exchange }) | Failure
  /** Whose answer it is: not always the last one's. */
  readonly from: Target
  /** How the last attempt failed; null when it did not. */
  readonly failed: AttemptEnd | null
  /** What translated the last attempt; null where client and provider speak the same dialect. */
  readonly translation: Translation | null
}

/** Tries the candidates in order. Throws only when a request cannot be made at all, before it is sent. */
export function send(clientRequest: ClientRequest, route: Route, options: SendOptions): void {
  new Walk(clientRequest, route, options).attempt()
}

/** The way from candidate to candidate; for most calls one attempt. */
class Walk {
  #clientRequest: ClientRequest
  readonly #candidates: Route['candidates']
  readonly #options: SendOptions
  #index = 0
  /** Further tries of this target. */
  #retries: number
  #exchange: Exchange | null = null
  /** In which this attempt is made; a translation keeps something of it. */
  #dialect: UpstreamDialect | null = null
  #translation: Translation | null = null
  #n = 0
  #requestsSent = 0
  #fallbacks = 0
  #unknownSpend = false
  #tried: Target
  #best: { readonly answer: Failure; readonly from: Target } | null = null

  constructor(clientRequest: ClientRequest, route: Route, options: SendOptions) {
    this.#clientRequest = clientRequest
    this.#candidates = route.candidates
    this.#options = options
    this.#retries = options.retries
    this.#tried = route.candidates[0]
  }

  attempt(): void {
    const target = this.#candidates[this.#index]!
    this.#n++
    this.#tried = target
    const { providers, dialect: name, limits, listener } = this.#options
    const { stream } = this.#clientRequest
    const provider = providers.get(target.provider)!
    const spoken = provider.dialects.get(name)!
    this.#translation = spoken.translation?.() ?? null
    const dialect: UpstreamDialect = this.#translation ?? spoken
    this.#dialect = dialect
    const { path, headers, body } = dialect.request(this.#clientRequest, target.model, provider)
    if (provider.trace) headers.push(...listener.traceHeaders(this.#n))
    const trace = listener.trace(target, path, headers, body)
    const exchange = new Exchange(dialect, limits, stream, trace, (result) => this.#settled(result))
    this.#exchange = exchange
    if (!listener.sending(target, exchange)) exchange.abort()
    else
      provider.dispatcher.dispatch(
        { origin: provider.origin, path, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
        exchange,
      )
  }

  #settled(result: AttemptResult): void {
    try {
      this.#judge(result)
    } catch (error) {
      this.#options.listener.fault(error)
    }
  }

  #judge(result: AttemptResult): void {
    const { listener, cooldown } = this.#options
    const target = this.#tried
    let answer = judge(result, target, this.#options)
    if (answer.kind !== 'failure' || answer.outcome !== 'not_sent') this.#requestsSent++
    const reduced = withoutRefused(this.#clientRequest, answer, target, this.#dialect!)
    if (reduced) {
      this.#clientRequest = reduced.request
      answer = reduced.failure
    }
    if (answer.kind === 'stream') this.#end({ ...answer, exchange: this.#exchange! }, target, null)
    else if (answer.kind === 'whole') this.#end(answer, target, null)
    else {
      // What a provider said tells a client more than what we can say about a lost connection.
      if (answer.status !== null || this.#best?.answer.status == null) this.#best = { answer, from: target }
      if (reduced) this.#tryAgain(answer)
      else if (answer.code === 'client_closed') this.#giveUp(answer)
      else {
        listener.failed(target, retryAfterMs(answer) ?? cooldown)
        this.#moveOn(answer)
      }
    }
  }

  /** The same target again, where nothing left for it, or the next one. */
  #moveOn(last: Failure): void {
    if (last.outcome === 'not_sent' && this.#retries > 0) this.#retries--
    else {
      this.#index++
      this.#retries = this.#options.retries
    }
    this.#tryAgain(last)
  }

  #tryAgain(last: Failure): void {
    const target = this.#candidates[this.#index]
    if (!target) {
      this.#giveUp(last)
      return
    }
    const fallbacks = target === this.#tried ? this.#fallbacks : this.#fallbacks + 1
    const before = { target: this.#tried, end: endOf(last, this.#translation) }
    this.#options.listener
      .next({ n: this.#n + 1, target, fallbacks, requestsSent: this.#requestsSent, before })
      .then((allowed) => {
        if (!allowed) return this.#giveUp(last)
        this.#fallbacks = fallbacks
        this.#unknownSpend ||= mayHaveSpent(last)
        this.attempt()
      })
      .catch((error) => this.#options.listener.fault(error))
  }

  #giveUp(last: Failure): void {
    const { answer, from } = last.code === 'client_closed' ? { answer: last, from: this.#tried } : this.#best!
    this.#end(answer, from, endOf(last, this.#translation))
  }

  #end(answer: SendResult['answer'], from: Target, failed: AttemptEnd | null): void {
    this.#options.listener.sent({
      n: this.#n,
      target: this.#tried,
      requestsSent: this.#requestsSent,
      fallbacks: this.#fallbacks,
      unknownSpend: this.#unknownSpend,
      answer,
      from,
      failed,
      translation: this.#translation,
    })
  }
}

/** How providers say that a request contains something that they do not accept. */
const REFUSALS = [400, 422]

/** What is asked next where the provider refused a part of the request that can be left out, and how this try is recorded. */
function withoutRefused(
  clientRequest: ClientRequest,
  answer: AttemptResult,
  target: Target,
  upstream: UpstreamDialect,
): { request: ClientRequest; failure: Failure } | null {
  if (answer.kind !== 'whole' || !REFUSALS.includes(answer.status) || !upstream.withoutRefused) return null
  const error = readError(answer.body, upstream)
  const request = error && upstream.withoutRefused(clientRequest, error)
  if (!request) return null
  const message = `${targetId(target)}: ${error.message}`
  return {
    request,
    failure: { ...failure('failed', 'upstream_error', message, answer), body: answer.body, error },
  }
}

/** The operator's fault, not the client's: never told in the provider's words. Contract "Errors". */
const OPERATORS_FAULT = [401, 402, 403]
const MOVES_ON = [408, 409, 425, 429]

/** Turns an error status that another target may not have into a failure; any other answer is final. */
function judge(result: AttemptResult, target: Target, { providers, dialect }: SendOptions): AttemptResult {
  if (result.kind === 'stream') return result
  if (result.kind === 'failure') return { ...result, message: `${targetId(target)}: ${result.message}` }
  const { status, body } = result
  const error = () => readError(body, providers.get(target.provider)!.dialects.get(dialect)!)
  // Google answers a wrong key with 400 and says inside what it is.
  if ([status, error()?.status].some((each) => OPERATORS_FAULT.includes(each ?? 0))) {
    const message = `${targetId(target)}: denied the gateway access with status ${status}; check the key that the gateway has for it`
    return { ...failure('failed', 'upstream_refused', message, result), error: error() }
  }
  if (isUnknownModel(status, body, target.model)) {
    const message = `${targetId(target)}: the provider does not know this model`
    return { ...failure('failed', 'model_not_found', message, result), body }
  }
  if (status < 500 && !MOVES_ON.includes(status)) return result
  const message = `${targetId(target)}: failed with status ${status}`
  return { ...failure('failed', 'upstream_error', message, result), body, error: error() }
}

/** How a failed attempt is written down. */
const endOf = ({ outcome, status, code, error }: Failure, translation: Translation | null): AttemptEnd => ({
  outcome,
  status,
  errorCode: error?.code ?? code,
  tokens: null,
  losses: translation?.losses ?? null,
})

/** An attempt that was refused by an error status, or never sent, used nothing; of any other it is not known. */
const mayHaveSpent = ({ outcome, status }: Failure): boolean =>
  outcome !== 'not_sent' && (status === null || status < 300)

/** `Retry-After` in ms, from seconds or a date; null where there is none that makes sense. */
function retryAfterMs({ headers }: Failure): number | null {
  const value = headers['retry-after']
  if (!value) return null
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 3_600_000) : null
}
