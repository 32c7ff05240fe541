// Tries the candidates of a route until one answers. Decides which failure moves the call on, which is final,
// and which cools a target down. Independent of clients and the store; reports the facts to record to its
// listener.
import type { Dispatcher } from 'undici'
import type { AnswerTrace } from '../core/artifact.ts'
import {
  type AttemptEnd,
  type RequestChanges,
  type Route,
  type Target,
  type Transport,
  targetId,
} from '../core/call.ts'
import { lossesOfMove } from '../core/losses.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import {
  type Credential,
  type CredentialAnswer,
  CredentialError,
  type Credentials,
} from '../credentials/credentials.ts'
import type { ClientRequest } from '../dialects/blocks.ts'
import type {
  Platform,
  ProviderAccess,
  ProviderRequest,
  Translation,
  UpstreamDialect,
} from '../dialects/dialect.ts'
import { type KnownRefusal, refusalIn } from '../models/refusals.ts'
import { detached } from '../shared/boundary.ts'
import { withoutRequest } from '../shared/redact.ts'
import { Adjuster, type AdjusterOptions, changed } from './adjuster.ts'
import {
  type AttemptResult,
  type Failure,
  failure,
  MAX_ERROR_BYTES,
  providerErrorIn,
  type Streaming,
  type Whole,
} from './attempt-result.ts'
import { type TimeLimits, UpstreamExchange } from './exchange.ts'
import { isUnknownModel } from './unknown-model.ts'
import { inBody, waitingTime } from './waiting-time.ts'

/** A provider that is ready for requests. */
export interface Provider {
  /** Dialects by name: those that the provider speaks, and those that are translated for it. */
  readonly dialects: ReadonlyMap<string, UpstreamDialect>
  readonly dispatcher: Dispatcher
  /** WebSockets of the provider; null if it is reached only over HTTP. */
  readonly sockets: Pick<Dispatcher, 'dispatch'> | null
  readonly origin: string
  /** Path of the base URL, without a trailing slash. */
  readonly basePath: string
  readonly credentials: Credentials
  /** Cloud that determines the paths of requests. Its connections convert the answers back. */
  readonly platform: Platform | null
  readonly factsOf: NonNullable<ProviderAccess['factsOf']>
  /** Returns the known context window of a model, in tokens. */
  readonly windowOf: (model: string) => number | null
  /** True if the provider receives the trace headers of the call. */
  readonly trace: boolean
}

interface SendOptions {
  /** Name of the client's dialect. */
  readonly dialect: string
  readonly providers: ReadonlyMap<string, Provider>
  /** Timeouts for this call. */
  readonly limits: TimeLimits
  /** Number of retries for a target to which no connection could be made. */
  readonly retries: number
  /** Default time for which a failed target is skipped, ms. */
  readonly cooldown: number
  readonly listener: SendListener
  /** Name of the call's key. */
  readonly keyName: string | null
  readonly adjusting: AdjusterOptions
  /** The caller's own credential. */
  readonly caller: CallerCredential | null
  /** Gateway key and session, as one text; null without a session. */
  readonly session: string | null
  /** True if the client may read why a provider refuses the operator's account, because the client is the operator. */
  readonly showsRefusals: boolean
}

/** Receives the events of a call while it is sent. */
export interface SendListener {
  /** Reports that a request was built. The returned trace observes its answer. */
  trace(target: Target, path: string, headers: readonly string[], body: string): AnswerTrace
  /**
   * Returns the trace headers of the n-th attempt, as alternating names and values, for providers that
   * receive them.
   */
  traceHeaders(n: number): readonly string[]
  /**
   * Reports a request that is about to be sent; aborting the exchange stops it. Returns false if the client
   * has left.
   */
  sending(target: Target, exchange: UpstreamExchange): boolean
  /** Reports a failed target, to be skipped for `ms`. */
  failed(target: Target, ms: number): void
  /** Called before each additional attempt. If it resolves with false, no other attempt is made. */
  next(attempt: NextAttempt): Promise<boolean>
  /** Reports the final result; no other call follows. */
  sent(result: SendResult): void
  /** Reports that a request could not be built; no other call follows. */
  fault(thrown: unknown): unknown
}

/** The next attempt, about to be sent because the previous one failed. */
export interface NextAttempt {
  readonly n: number
  readonly target: Target
  /** Number of target changes so far, including this one. */
  readonly fallbacks: number
  /** Number of previous attempts whose request was sent. */
  readonly requestsSent: number
  readonly before: { readonly target: Target; readonly end: AttemptEnd }
}

/** Result of a call. */
export interface SendResult {
  /** The last attempt and its target. */
  readonly n: number
  readonly target: Target
  /** Number of attempts whose request was sent, as far as known. */
  readonly requestsSent: number
  /** Changes of target. */
  readonly fallbacks: number
  /** The answer or, if every target failed, the last answer of a provider. */
  readonly answer: Whole | (Streaming & { readonly exchange: UpstreamExchange }) | Failure
  /** Target that gave the answer, which may not be the last target. */
  readonly from: Target
  /** Failure of the last attempt; null if it succeeded. */
  readonly failed: AttemptEnd | null
  /** Transport of the last attempt's request; null if it was not sent. */
  readonly transport: Transport | null
  /** Translation of the last attempt; null if client and provider speak the same dialect. */
  readonly translation: Translation | null
  /** Translation of the attempt that gave the answer. */
  readonly answerTranslation: Translation | null
  /** Members that the last attempt left out or renamed because the provider refuses them. */
  readonly adjusted: readonly string[]
  /** Those of them that it renamed because of a fact. */
  readonly renamed: readonly string[]
  /** Name of the last attempt's credential; null if its provider has only one. */
  readonly credential: string | null
  /** Losses of the request itself, and of the session because a different key of the provider served it before. */
  readonly moveLosses: readonly string[]
}

/** Tries the candidates in order. Throws only if a request cannot be built, before anything is sent. */
export function sendToProvider(clientRequest: ClientRequest, route: Route, options: SendOptions): void {
  new Walk(clientRequest, route, options).attempt()
}

/** An attempt that another handler began: the first of a call, at the first target, with a constant credential. */
export interface BegunAttempt {
  readonly trace: AnswerTrace
  /** Time since the request was sent, ms. */
  readonly ms: number
}

/** Goes on with an attempt. Returns its exchange, which the caller puts into the state of the attempt. */
export const goOnSending = (
  clientRequest: ClientRequest,
  route: Route,
  options: SendOptions,
  begun: BegunAttempt,
): UpstreamExchange => new Walk(clientRequest, route, options).goOn(begun)

/** The sequence of candidates. Most calls need one attempt. */
class Walk {
  #clientRequest: ClientRequest
  readonly #candidates: Route['candidates']
  readonly #readsReasoning: NonNullable<Route['readsReasoning']>
  readonly #options: SendOptions
  #index = 0
  /** Remaining retries for this target. */
  #retries: number
  #exchange: UpstreamExchange | null = null
  /** Credential of this attempt; null until it is known. */
  #credential: Credential | null = null
  /** Names of the credentials already tried for this target. */
  #triedCredentials = NONE
  /** Dialect of this attempt. A translation has state, so each attempt has its own. */
  #dialect: UpstreamDialect | null = null
  #translation: Translation | null = null
  #n = 0
  #requestsSent = 0
  #fallbacks = 0
  #tried: Target
  #best: {
    readonly answer: Failure
    readonly from: Target
    readonly translation: Translation | null
  } | null = null
  readonly #adjuster: Adjuster
  /** Refusal after which this target got a changed request; null if there is none. */
  #refusal: {
    readonly answer: Failure
    readonly from: Target
    readonly translation: Translation | null
  } | null = null
  /** Reasons for failures, by target id; null until a target has failed. */
  #reasons: Map<string, string> | null = null

  constructor(clientRequest: ClientRequest, route: Route, options: SendOptions) {
    this.#clientRequest = clientRequest
    this.#candidates = route.candidates
    this.#readsReasoning = route.readsReasoning ?? (() => true)
    this.#options = options
    this.#retries = options.retries
    this.#tried = route.candidates[0]
    this.#adjuster = new Adjuster(options.adjusting)
  }

  goOn({ trace, ms }: BegunAttempt): UpstreamExchange {
    const { providers, dialect } = this.#options
    const { dialects, factsOf, credentials } = providers.get(this.#tried.provider)!
    this.#n = 1
    this.#dialect = dialects.get(dialect)!
    this.#credential = credentials.constant!
    this.#adjuster.begin(this.#tried, this.#dialect, null, factsOf)
    return this.#exchangeWith(trace, ms)
  }

  attempt(): void {
    const target = this.#candidates[this.#index]!
    const before = this.#tried
    this.#n++
    this.#tried = target
    const { providers, dialect: name, caller, session } = this.#options
    if (target !== before) this.#triedCredentials = new Set()
    const provider = providers.get(target.provider)!
    const spoken = provider.dialects.get(name)!
    this.#translation = spoken.translation?.(this.#clientRequest, target.model) ?? null
    if (this.#translation || this.#clientRequest.continues?.keeper !== target.provider)
      this.#clientRequest = writtenOut(this.#clientRequest)
    this.#dialect = this.#translation ?? spoken
    this.#adjuster.begin(target, this.#dialect, this.#translation, provider.factsOf)
    try {
      this.#credential = null
      const credential = provider.credentials.take({ caller, session, tried: this.#triedCredentials })
      if (credential instanceof Promise)
        credential.then(
          this.#step((credential) => this.#request(provider, credential)),
          this.#step((error) => this.#unsent(error)),
        )
      else this.#request(provider, credential)
    } catch (error) {
      this.#unsent(error)
    }
  }

  /** Builds the request with its credential, and sends it. */
  #request(provider: Provider, credential: Credential): void {
    const { basePath, factsOf } = provider
    this.#credential = credential
    if (credential.name !== undefined) {
      if (this.#triedCredentials === NONE) this.#triedCredentials = new Set()
      this.#triedCredentials.add(credential.name)
    }
    const access = { basePath, key: credential.key, factsOf }
    const { model, changes } = this.#tried
    const plain = this.#dialect!.request(this.#clientRequest, model, access)
    const made = changes ? this.#changed(plain, changes, provider) : plain
    const fitting = { ...made, body: this.#adjuster.fit(made.body, this.#translation) }
    const request = provider.platform?.place(fitting) ?? fitting
    if (provider.trace) request.headers.push(...this.#options.listener.traceHeaders(this.#n))
    const complete = credential.complete?.(request, 'POST') ?? request
    if (complete instanceof Promise)
      complete.then(
        this.#step((complete) => this.#send(provider, complete)),
        this.#step((error) => this.#unsent(error)),
      )
    else this.#send(provider, complete)
  }

  /** Applies the route's configured changes for requests to this target. */
  #changed(plain: ProviderRequest, changes: RequestChanges, { factsOf }: Provider): ProviderRequest {
    const { model } = this.#tried
    const facts = (dialect: string) => factsOf(model, dialect)
    const body = this.#dialect!.tuned?.(plain.body, changes, facts) ?? plain.body
    return changed({ ...plain, body }, changes)
  }

  /** Nothing was sent, because no credential was available. */
  #unsent(error: unknown): void {
    if (!(error instanceof CredentialError)) throw error
    const { message, waitMs } = error
    const failed = failure('not_sent', waitMs === null ? 'upstream_refused' : 'rate_limited', message, null)
    this.#settled(
      waitMs === null ? failed : { ...failed, headers: { 'retry-after': String(waitMs / 1_000) } },
    )
  }

  /** Wraps a step that runs later, so that an exception ends the call. */
  #step<Given>(step: (given: Given) => void): (given: Given) => void {
    return (given) => {
      try {
        step(given)
      } catch (error) {
        this.#options.listener.fault(error)
      }
    }
  }

  #send(provider: Provider, { path, headers, body }: ProviderRequest): void {
    const target = this.#tried
    const { listener } = this.#options
    const exchange = this.#exchangeWith(listener.trace(target, path, headers, body))
    if (!listener.sending(target, exchange)) exchange.abort()
    else
      (provider.sockets ?? provider.dispatcher).dispatch(
        { origin: provider.origin, path, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
        exchange,
      )
  }

  /** Makes the exchange of this attempt. */
  #exchangeWith(trace: AnswerTrace, ms = 0): UpstreamExchange {
    const { limits, keyName } = this.#options
    const [request, dialect, { model }] = [this.#clientRequest, this.#dialect!, this.#tried]
    const settled = (result: AttemptResult) => this.#settled(result)
    const otherForm = () => dialect.otherForm?.(request, model)
    const exchange = new UpstreamExchange(
      ...([dialect, limits, request.stream, trace, keyName, settled, otherForm, undefined, ms] as const),
    )
    this.#exchange = exchange
    return exchange
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
    let answer = judge(result, target, this.#dialect!, this.#options)
    if (answer.kind !== 'failure' || answer.outcome !== 'not_sent') this.#requestsSent++
    const answered = answeredOf(answer)
    const isRefused = answer.kind === 'failure' && answer.code === 'upstream_refused'
    const why = isRefused && answered ? this.#credential?.refusal?.(answered) : null
    const turn = this.#credential?.settled?.(answered) ?? null
    if (answer.kind === 'failure' && why) answer = explained(answer, target, why)
    const reduced = withoutRefused(this.#clientRequest, answer, target, this.#dialect!)
    if (reduced) this.#clientRequest = reduced.request
    const again = reduced?.failure ?? (answer.kind === 'whole' ? this.#adjuster.askAgain(answer) : null)
    const tooLong = again || answer.kind !== 'whole' ? null : this.#tooLong(answer)
    if (again) answer = again
    else if (tooLong) answer = tooLong
    else if (answer.kind !== 'failure' && answer.status < 300) this.#adjuster.accepted()
    if (answer.kind === 'stream') this.#end({ ...answer, exchange: this.#exchange! }, target, null)
    else if (answer.kind === 'whole') this.#endWhole(answer)
    else {
      if (again && this.#refusal?.from !== target)
        this.#refusal = { answer, from: target, translation: this.#translation }
      this.#reasons ??= new Map()
      this.#reasons.set(targetId(target), answer.message.slice(0, MAX_REASON))
      // A provider's answer helps a client more than the gateway's message about a lost connection.
      if (answer.status !== null || this.#best?.answer.status == null)
        this.#best = { answer, from: target, translation: this.#translation }
      if (again || tooLong) this.#tryAgain(answer)
      else if (answer.code === 'client_closed') this.#giveUp(answer)
      else if (turn === 'another') this.#tryAgain(answer)
      else {
        if (!answer.isGivenUp && !isOfOneCaller(answer, target, this.#options))
          listener.failed(target, turn?.waitMs ?? waitingTime(answer) ?? cooldown)
        this.#moveOn(answer)
      }
    }
  }

  /** Ends with an answer. The refusal of a changed request is not shown: the client reads the refusal of its own. */
  #endWhole(answer: Whole): void {
    const target = this.#tried
    const refusal = answer.parsed || this.#refusal?.from !== target ? null : this.#refusal
    const error = refusal && providerErrorIn(answer.body, this.#dialect!)
    // Clients shorten a conversation that is too long. This holds for their own request, too.
    if (!refusal || (error && this.#dialect!.isTooLong?.(error))) this.#end(answer, target, null)
    else {
      const last = { ...failure('failed', 'upstream_error', '', answer), error }
      this.#end(refusal.answer, target, this.#endOf(last), refusal.translation)
    }
  }

  /**
   * Switches to the next target with a larger window if the provider finds the request too long. Returns null
   * if there is none.
   */
  #tooLong(answer: Whole): Failure | null {
    const error = REFUSALS.includes(answer.status) ? providerErrorIn(answer.body, this.#dialect!) : null
    if (!error || !this.#dialect!.isTooLong?.(error)) return null
    const windowOf = ({ provider, model }: Target) =>
      this.#options.providers.get(provider)!.windowOf(model) ?? 0
    const next = this.#candidates.findIndex(
      (each, at) => at > this.#index && windowOf(each) > windowOf(this.#tried),
    )
    if (next < 0) return null
    this.#index = next
    const message = `${targetId(this.#tried)}: ${error.message}`
    return { ...failure('failed', 'upstream_error', message, answer), body: answer.body, error }
  }

  /** Retries the same target if nothing was sent to it; otherwise tries the next one. */
  #moveOn(last: Failure): void {
    if (last.outcome === 'not_sent' && !NOT_AGAIN.includes(last.code) && this.#retries > 0) this.#retries--
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
    const before = { target: this.#tried, end: this.#endOf(last) }
    this.#best = this.#best && { ...this.#best, answer: shortened(this.#best.answer) }
    const next = this.#options.listener
      .next({ n: this.#n + 1, target, fallbacks, requestsSent: this.#requestsSent, before })
      .then((allowed) => {
        if (!allowed) return this.#giveUp(last)
        this.#fallbacks = fallbacks
        this.attempt()
      })
    detached(next, (error) => this.#options.listener.fault(error))
  }

  #giveUp(last: Failure): void {
    const { answer, from, translation } =
      last.code === 'client_closed'
        ? { answer: last, from: this.#tried, translation: this.#translation }
        : this.#best!
    this.#end(this.#withReasons(answer), from, this.#endOf(last), translation)
  }

  /** Names every tried target in one of the gateway's own errors; a provider's error is relayed unchanged. */
  #withReasons(answer: Failure): Failure {
    const reasons = [...(this.#reasons?.values() ?? [])]
    if (answer.body !== null || answer.code === 'client_closed' || reasons.length < 2) return answer
    return { ...answer, message: `no target answered: ${reasons.join('; ')}` }
  }

  #end(
    answer: SendResult['answer'],
    from: Target,
    failed: AttemptEnd | null,
    answerTranslation = this.#translation,
  ): void {
    this.#options.listener.sent({
      n: this.#n,
      target: this.#tried,
      requestsSent: this.#requestsSent,
      fallbacks: this.#fallbacks,
      answer,
      from,
      failed,
      transport: failed ? (failed.transport ?? null) : this.#exchange!.transport,
      translation: this.#translation,
      answerTranslation,
      adjusted: this.#adjuster.adjusted,
      renamed: this.#adjuster.renamed,
      credential: this.#credential?.name ?? null,
      moveLosses: this.#moveLosses(),
    })
  }

  /**
   * Returns the losses of the request itself, and the session's losses because a different key of the provider, or
   * a different account, served it before.
   */
  #moveLosses(): readonly string[] {
    const isElsewhere = !this.#translation && !this.#readsReasoning(this.#tried)
    const { lost = [], text } = this.#clientRequest
    return this.#credential?.moved || isElsewhere ? [...lost, ...lossesOfMove(text)] : lost
  }

  /** Returns the record of a failed attempt. */
  #endOf({ outcome, status, code, error }: Failure): AttemptEnd {
    return {
      outcome,
      status,
      errorCode: error?.code ?? code,
      refusal: REFUSED.includes(code)
        ? (error?.message ?? null)
        : sentenceIn({ status, error }, this.#clientRequest),
      tokens: null,
      losses: lossesOf({ translation: this.#translation, moveLosses: this.#moveLosses() }),
      adjusted: this.#adjuster.adjusted.length > 0 ? this.#adjuster.adjusted : null,
      credential: this.#credential?.name ?? null,
      transport: outcome === 'not_sent' ? null : (this.#exchange?.transport ?? null),
    }
  }
}

/** Returns the provider's sentence about a failure, for the record: without the request, and not of a wrong key. */
export const sentenceIn = (
  { status, error }: Pick<Failure, 'status' | 'error'>,
  { text }: Pick<ClientRequest, 'text'>,
): string | null =>
  error?.message && status !== 401 && error.status !== 401 ? withoutRequest(error.message, text) : null

/** Error codes of refusals of an account or a model, whose sentence is recorded as it is. */
const REFUSED = ['upstream_refused', 'model_not_found']

/** Returns the request for a provider that does not store the earlier conversation. */
const writtenOut = ({ continues, ...request }: ClientRequest): ClientRequest =>
  continues ? { ...request, text: continues.text } : request

/** Error codes of attempts that found no credential, or whose time was over before there was a connection. */
const NOT_AGAIN = ['upstream_refused', 'rate_limited', 'upstream_timeout']

/** Default for attempts without named credentials. */
const NONE: Set<string> = new Set()

/** Returns all losses of the last attempt; null if nothing was translated and nothing was lost. */
export const lossesOf = ({
  translation,
  moveLosses,
}: Pick<SendResult, 'translation' | 'moveLosses'>): readonly string[] | null =>
  translation || moveLosses.length > 0 ? [...new Set([...(translation?.losses ?? []), ...moveLosses])] : null

/** Maximum characters of a failure's message if several are listed. */
const MAX_REASON = 300

/** Statuses with which providers refuse content. */
const REFUSALS = [400, 422]

/** Returns the next request and the record of this attempt, if the provider refused an optional part. */
function withoutRefused(
  clientRequest: ClientRequest,
  answer: AttemptResult,
  target: Target,
  upstream: UpstreamDialect,
): { request: ClientRequest; failure: Failure } | null {
  if (answer.kind !== 'whole' || !REFUSALS.includes(answer.status) || !upstream.withoutRefused) return null
  const error = providerErrorIn(answer.body, upstream)
  const request = error && upstream.withoutRefused(clientRequest, error)
  if (!request) return null
  const message = `${targetId(target)}: ${error.message}`
  return {
    request,
    failure: { ...failure('failed', 'upstream_error', message, answer), body: answer.body, error },
  }
}

/**
 * Statuses that are the operator's fault, not the client's, so the provider's message is never shown. See the
 * contract's section "Errors".
 */
const OPERATORS_FAULT = [401, 402, 403]
const CALLERS_FAULT = [401, 403]
const MOVES_ON = [408, 409, 425, 429]

/** Turns an error status into a failure if another target may succeed; any other answer is final. */
function judge(
  result: AttemptResult,
  target: Target,
  upstream: UpstreamDialect,
  options: SendOptions,
): AttemptResult {
  if (result.kind === 'stream' || (result.kind === 'whole' && result.parsed)) return result
  const { credentials, platform } = options.providers.get(target.provider)!
  const { body } = result
  const error = result.kind === 'failure' ? result.error : providerErrorIn(result.body, upstream)
  // An error inside a 200 counts as the status that it names.
  const status = result.kind === 'failure' ? (error?.status ?? null) : result.status
  if (result.kind === 'failure' && !(body && error))
    return { ...result, message: `${targetId(target)}: ${result.message}` }
  // Only the caller can renew its own credential, so it receives the provider's own message.
  if (result.kind === 'whole' && credentials.areCallers && CALLERS_FAULT.includes(result.status))
    return result
  const refusal = body && refusalIn({ status, body: contentOf(body) ?? error?.message })
  if (refusal?.cause === 'content') return result
  // Google answers a wrong key with status 400 and names the error in the body.
  const denied =
    refusal?.cause === 'key'
      ? 401
      : [status, error?.status].find((each) => OPERATORS_FAULT.includes(each ?? 0))
  if (denied || (refusal && refusal.cause !== 'model')) {
    const sentence = denied === 401 ? null : (refusal?.sentence ?? error?.message ?? null)
    return refusedAccount(result, { refusal, sentence, denied: denied ?? 402, error, target, options })
  }
  if (refusal || (result.kind === 'whole' && isUnknownModel(result.status, result.body, target.model))) {
    const message = `${targetId(target)}: the provider does not know this model`
    const told = refusal?.sentence ?? error?.message ?? ''
    const stands = result.kind === 'failure' ? (error?.status ?? 404) : null
    const unknown = { message: told, code: null, status: stands }
    return { ...failure('failed', 'model_not_found', message, started(result)), body, error: unknown }
  }
  if (result.kind === 'failure') return { ...result, message: `${targetId(target)}: ${result.message}` }
  if (result.status < 500 && !MOVES_ON.includes(result.status) && !platform?.movesOn?.includes(result.status))
    return result
  const message = `${targetId(target)}: failed with status ${result.status}`
  return { ...failure('failed', 'upstream_error', message, result), body, error }
}

/** Returns the start of an answer that refuses. */
const started = ({ status, headers }: Whole | Failure) => ({ status: status!, headers })

/** Returns the JSON of an error; undefined for any other text. */
function contentOf(body: Buffer): unknown {
  if (body.length > MAX_ERROR_BYTES) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Makes the failure for a refusal of the operator's key or account. */
function refusedAccount(
  result: Whole | Failure,
  known: {
    readonly refusal: KnownRefusal | null
    /** The provider's sentence; null if it may contain a part of the key. */
    readonly sentence: string | null
    /** Status as which the refusal counts. */
    readonly denied: number
    readonly error: Failure['error']
    readonly target: Target
    readonly options: SendOptions
  },
): Failure {
  const { refusal, sentence, denied, error, target, options } = known
  const { areCallers } = options.providers.get(target.provider)!.credentials
  const shown = options.showsRefusals || areCallers ? sentence?.trim().replace(/\.$/, '') : undefined
  const what = refusal ? 'the account that the gateway has there' : 'the key that the gateway has for it'
  const why = shown ? `: ${shown.slice(0, MAX_SHOWN_LENGTH)}` : `; check ${what}`
  const status = result.kind === 'failure' ? denied : result.status
  const message = `${targetId(target)}: denied the gateway access with status ${status}${why}`
  const waitMs = waitingTime(result) ?? (refusal && result.body ? inBody(result.body) : null)
  const headers =
    waitMs === null ? {} : { headers: { ...result.headers, 'retry-after': `${waitMs / 1_000}` } }
  const code = refusal?.code ?? error?.code ?? null
  return {
    ...failure('failed', 'upstream_refused', message, started(result)),
    ...headers,
    error: { message: sentence ?? '', code: code && CODE.test(code) ? code : null, status: denied },
  }
}

/** Error codes that a record accepts. */
const CODE = /^[\w.-]{1,64}$/

/** Maximum characters of a provider's sentence that a client sees. */
const MAX_SHOWN_LENGTH = 1_000

/** Maximum bytes of an error that is stored while another target is tried, because many calls may wait. */
const MAX_STORED_ERROR_BYTES = 2 ** 16

/** Shortens a failure with a long error to the beginning, which is quoted. */
function shortened(answer: Failure): Failure {
  const { body, error } = answer
  if (body === null || body.length <= MAX_STORED_ERROR_BYTES) return answer
  return {
    ...answer,
    message: Buffer.from(answer.message.slice(0, 2_000)).toString(), // a slice would retain the whole text
    body: Buffer.from(body.subarray(0, MAX_STORED_ERROR_BYTES)),
    error: error && { ...error, message: '' },
  }
}

/**
 * Returns true for a limit on the caller's own account, which does not affect the target for other callers.
 */
const isOfOneCaller = (
  { status, error }: Failure,
  { provider }: Target,
  { providers }: SendOptions,
): boolean =>
  providers.get(provider)!.credentials.areCallers && (status === 429 || (error?.status ?? status) === 402)

/** Words a refusal by the facts known about its credential. */
const explained = (answer: Failure, target: Target, why: string): Failure => ({
  ...answer,
  message: `${targetId(target)}: denied the gateway access: ${why}`,
})

/** Returns the meaning of an answer for its credential; null if no answer came. */
function answeredOf(answer: AttemptResult): CredentialAnswer | null {
  if (answer.status === null) return null
  const { headers } = answer
  const none = { headers, code: null, message: null, retryAfterMs: null }
  if (answer.kind !== 'failure') return { ...none, status: answer.status }
  const { status, error } = answer
  return {
    status: error?.status ?? status,
    headers,
    code: error?.code ?? null,
    message: error?.message ?? null,
    retryAfterMs: waitingTime(answer),
  }
}
