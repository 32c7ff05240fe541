// One call from its request to its closed record, the same for every dialect: read, route, record, send,
// answer, close. Knows no dialect by name. An open record is always closed, whatever happens.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { CachedAnswer } from '../cache/recorder.ts'
import type { RouteConfig } from '../config/load.ts'
import { type AnswerTrace, CallTrace } from '../core/artifact.ts'
import { type Call, type CallOutcome, type Purpose, type Route, type Target, timeOfId } from '../core/call.ts'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { addCosts, costOfAttempt, type KnownCost } from '../core/record.ts'
import { traceHeaders, traceparentOf } from '../core/tracing.ts'
import type { ClientRequest } from '../dialects/client-request.ts'
import type { ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import { referencesIn } from '../dialects/kept.ts'
import { type BodyTaker, type JsonBody, readJson } from '../http/body.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { purposeOf } from '../http/purpose.ts'
import { replyError } from '../http/reply.ts'
import { agentOf, sessionOf } from '../http/session.ts'
import type { UpstreamExchange } from '../providers/exchange.ts'
import { type NextAttempt, type SendListener, type SendResult, sendToProvider } from '../providers/send.ts'
import type { Routed } from '../routing/router.ts'
import type { Mask } from '../shared/redact.ts'
import { type Answering, type AnswerResult, answerClient } from './answer.ts'
import { answerCached } from './answer-cached.ts'
import type { CallContext } from './context.ts'
import { withoutLossy } from './on-loss.ts'
import { maskingOwn, mayUseCallers, withoutCredentialless } from './own-credential.ts'
import { type KeptState, keptFor } from './provider-state.ts'
import { readRequest } from './read-request.ts'
import { unknownModel } from './unknown-model.ts'

/** Returns the endpoints at which calls of a dialect arrive. */
export const callEndpoints = (dialect: ClientDialect): CallEndpoint<CallContext>[] =>
  [dialect.path, ...(dialect.alsoAt ?? [])].map((path) => endpointAt(path, dialect))

const endpointAt = (path: string, dialect: ClientDialect): CallEndpoint<CallContext> => ({
  path,
  keyParameter: dialect.keyParameter,
  summary: dialect.summary,
  request: dialect.schema,
  errorBody: dialect.errorBody,
  errorSchema: dialect.errorSchema,
  requestIdHeader: dialect.requestIdHeader,
  handle: (admitted, response, context) => new Arrival(dialect, admitted, response, context).begin(),
})

/** A request that has just arrived, and whose client may leave at any moment. */
class Arrival implements BodyTaker {
  readonly admitted: Admitted
  readonly response: ServerResponse
  /** In ms of the `performance` clock. */
  readonly start = performance.now()
  gone = false
  /** The open exchange with a provider, aborted when the client leaves. */
  exchange: UpstreamExchange | null = null
  readonly #dialect: ClientDialect
  readonly #context: CallContext

  constructor(dialect: ClientDialect, admitted: Admitted, response: ServerResponse, context: CallContext) {
    this.#dialect = dialect
    this.#context = context
    this.admitted = admitted
    this.response = response
    response.on('close', () => {
      if (!response.writableFinished) this.giveUp()
    })
  }

  begin(): void {
    const wait = this.#context.limits.admit(this.admitted.caller.name)
    if (wait) wait.then(() => this.#read()).catch((error) => this.refuse(error))
    else this.#read()
  }

  #read(): void {
    const { request, slot } = this.admitted
    readJson(request, this.#context.config.server.body_limit, slot, this)
  }

  /** On return, the parsed body is released, unless the record has to be queried first. */
  body(body: JsonBody): void {
    try {
      const { caller } = this.admitted
      const read = readRequest(this.#dialect, body, this.admitted, this.#context)
      const { kept: kinds } = this.#dialect
      const [first, ...others] = kinds ? referencesIn(kinds, body.json) : []
      if (!first) this.#open(body, read, null)
      else
        keptFor([first, ...others], caller.name, this.#context)
          .then((kept) => this.#open(body, read, kept))
          .catch((error) => this.refuse(error))
    } catch (error) {
      this.refuse(error)
    }
  }

  #open(body: JsonBody, read: ReadRequest, kept: KeptState | null): void {
    try {
      const found = route(this.#dialect, body, read, kept, this.admitted, this.#context)
      if (found instanceof Promise)
        found.then((found) => this.#call(body, found)).catch((error) => this.refuse(error))
      else this.#call(body, found)
    } catch (error) {
      this.refuse(error)
    }
  }

  #call(body: JsonBody, found: Found): void {
    let call: OpenCall
    try {
      call = new OpenCall(this.#dialect, found, body, this, this.#context)
    } catch (error) {
      found.routed.tracker.over()
      throw error
    }
    call.begin()
  }

  refuse(error: unknown): void {
    this.admitted.refuse(error)
  }

  giveUp(): void {
    this.gone = true
    this.exchange?.abort()
  }
}

interface Found {
  readonly request: ClientRequest
  readonly routed: Routed
  readonly sessionId: string | null
  readonly purpose: Purpose
  /** True if the provider's id of the answer goes on record. */
  readonly keepsAnswer: boolean
  /** True if the answer may come from the cache. */
  readonly isRepeatable: boolean
}

/**
 * Returns the route of a request, within its key's budget; a promise if other gateways have to be asked.
 * `kept`: state that only one provider has.
 */
function route(
  dialect: ClientDialect,
  { json }: JsonBody,
  { request, traits, sessionHints, keepsAnswer = true, noKeeper, ...read }: ReadRequest,
  kept: KeptState | null,
  { request: { headers }, requestId: callId, caller }: Admitted,
  context: CallContext,
): Found | Promise<Found> {
  const { router, limits } = context
  const purpose = read.purpose ?? purposeOf(headers, traits)
  const sessionId = sessionOf(headers, sessionHints)
  const keyName = caller.name
  const agentId = agentOf(headers)
  const { name, staysWithModel } = dialect
  const input = {
    dialect: name,
    staysWithModel,
    sessionId,
    agentId,
    purpose,
    keyName,
    traits,
    kept,
    noKeeper,
  }
  const routed = router.route(request.model, input)
  if (!routed) throw unknownModel(request.model)
  try {
    const usable = withoutCredentialless(routed.route, caller.credential, context)
    const allowed = withoutLossy(usable, request, dialect, context)
    const reserved = limits.reserve({ callId, keyName, route: allowed, traits, body: json })
    const found = (route: Route): Found => ({
      request,
      routed: { ...routed, route },
      sessionId,
      purpose,
      keepsAnswer,
      isRepeatable: !noKeeper && !kept?.changes,
    })
    if (!(reserved instanceof Promise)) return found(reserved)
    return reserved.then(found, (error) => {
      routed.tracker.over()
      throw error
    })
  } catch (error) {
    routed.tracker.over()
    throw error
  }
}

class OpenCall implements Answering, SendListener {
  readonly dialect: ClientDialect
  readonly request: ClientRequest
  readonly route: Route
  readonly call: Call
  readonly response: ServerResponse
  readonly context: CallContext
  readonly answerModel: RouteConfig['answer_model']
  readonly cacheName: string | null
  readonly #hit: CachedAnswer | undefined
  readonly #arrival: Arrival
  readonly #tracker: Routed['tracker']
  readonly #trace: CallTrace
  readonly #keepsAnswer: boolean
  /** Without its answer, which may be large: only bytes that the client has not read stay in memory. */
  #result: Omit<SendResult, 'answer'> | null = null
  /** Cost of the attempts before the current one. */
  #earlier: KnownCost | null = null
  #closed = false

  constructor(
    dialect: ClientDialect,
    { request, routed: { route, tracker }, sessionId, purpose, keepsAnswer, isRepeatable }: Found,
    body: JsonBody,
    arrival: Arrival,
    context: CallContext,
  ) {
    const { config, cache } = context
    const { caller, requestId, path, request: incoming } = arrival.admitted
    this.dialect = dialect
    this.request = request
    this.route = route
    this.response = arrival.response
    this.context = maskingOwn(context, caller.credential)
    this.#arrival = arrival
    this.#tracker = tracker
    this.#keepsAnswer = keepsAnswer
    const { cache: isCached = config.cache.enabled, answer_model = 'provider' } =
      (route.name !== null && config.routes[route.name]) || {}
    this.answerModel = answer_model
    const mayRepeat =
      isCached && isRepeatable && !mayUseCallers(route, context) && !declinesCache(incoming.headers)
    this.cacheName = mayRepeat ? this.#cacheName(caller.name) : null
    this.#hit = this.cacheName === null ? undefined : cache.get(this.cacheName, route.candidates[0])
    this.call = {
      id: requestId,
      createdAt: timeOfId(requestId),
      endpoint: path.replace('*', '{model}'),
      requestedModel: request.model,
      sessionId,
      agentId: agentOf(incoming.headers),
      purpose,
      client: context.clientOf(incoming.headers),
      traceparent: context.tracing && traceparentOf(incoming.headers),
      keyName: caller.name,
      stream: request.stream,
      replayed: context.replay,
      cache: this.#hit ? 'HIT' : this.cacheName === null ? 'BYPASS' : 'MISS',
    }
    this.#trace = new CallTrace(this.call, incoming.headers, body, config.artifacts.bodies, arrival.start)
  }

  /** Returns milliseconds since the call arrived. */
  elapsed(): number {
    return Math.round((performance.now() - this.#arrival.start) * 100) / 100
  }

  /** Puts the call on record before a byte of it leaves. Refuses it if that fails. */
  begin(): void {
    this.context.store.open({ kind: 'open', call: this.call, route: this.route }, (cause) => {
      if (cause) this.#refuse(cause)
      else this.#run()
    })
  }

  #refuse(cause: Error): void {
    this.#tracker.over()
    const message = 'The call was refused: it could not be recorded.'
    this.#arrival.refuse(new GatewayError('log_unavailable', message, { cause }))
  }

  #run(): void {
    try {
      if (this.#hit) answerCached(this.#hit, this)
      else sendToProvider(this.request, this.route, this.#sendOptions())
    } catch (thrown) {
      this.fault(thrown)
    }
  }

  sent(result: SendResult): void {
    const { answer: _, ...way } = result
    this.#result = way
    if (isAnswer(result)) this.#tracker.answered(this.elapsed())
    answerClient(result, this)
  }

  answered(result: AnswerResult): void {
    try {
      this.#close(result)
    } catch (thrown) {
      this.fault(thrown)
    }
  }

  guard<Given>(step: (given: Given) => void): (given: Given) => void {
    return (given) => {
      try {
        step(given)
      } catch (thrown) {
        this.fault(thrown)
      }
    }
  }

  /**
   * Ends the call after a fault of our own, or for a request that cannot be sent as asked. Money that may
   * have been spent stays on record, and nothing is left running.
   */
  fault(thrown: unknown): void {
    const error = asGatewayError(thrown)
    if (error.status >= 500) this.context.onFault(thrown, this.call.id)
    if (this.#closed) return
    this.#arrival.giveUp()
    replyError(this.response, error, this.call.id, this.dialect)
    const { status, code: errorCode } = error
    this.#close({
      outcome: { state: 'failed', status, errorCode, responseModel: null, ttftMs: null },
      attempt: { outcome: this.#result ? 'unknown' : 'not_sent', status: null, errorCode, tokens: null },
    })
  }

  trace(target: Target, path: string, headers: readonly string[], body: string): AnswerTrace {
    return this.#trace.exchange(target, path, headers, body)
  }

  traceHeaders(n: number): readonly string[] {
    const { tracing } = this.context
    return tracing ? traceHeaders(this.call, n, tracing, this.#arrival.admitted.request.headers) : []
  }

  sending(target: Target, exchange: UpstreamExchange): boolean {
    this.#tracker.attempt(target, this.elapsed())
    this.#arrival.exchange = exchange
    return !this.#arrival.gone
  }

  failed(target: Target, ms: number): void {
    this.context.router.cool(target, ms)
  }

  async next({ n, target, fallbacks, requestsSent, before }: NextAttempt): Promise<boolean> {
    const { store, price, mask, now } = this.context
    const at = now()
    const ended = { ...masked(before.end, mask), n: n - 1, target: before.target }
    const cost = price(ended.target, ended.tokens, at)
    const { id } = this.call
    try {
      await store.write({ kind: 'next', id, at, ended, cost, target, fallbacks, requestsSent })
      const spent = costOfAttempt({ ended, cost })
      this.#earlier = this.#earlier ? addCosts(this.#earlier, spent) : spent
      return true
    } catch {
      return false // not recorded, so not made; the client gets the result of the attempts so far
    }
  }

  #sendOptions() {
    const { config, providers } = this.context
    const { stream_first_event, answer, idle, retries, cooldown } = config.resilience
    const limits = { responseStart: this.request.stream ? stream_first_event : answer, idle }
    const { keyName } = this.call
    const { credential: caller = null } = this.#arrival.admitted.caller
    const { name: dialect } = this.dialect
    return { dialect, providers, limits, retries, cooldown, listener: this, keyName, caller }
  }

  #cacheName(keyName: string | null): string | null {
    return this.context.cache.name({
      endpoint: this.dialect.path,
      keyName,
      answerModel: this.answerModel,
      identity: this.dialect.cacheIdentity(this.request),
      stream: this.request.stream,
    })
  }

  /** Closes the record, once. */
  #close({ attempt, outcome }: AnswerResult): void {
    if (this.#closed) return
    this.#tracker.over()
    const { store, price, mask, now } = this.context
    const { n = 1, target = this.route.candidates[0], requestsSent = 0, fallbacks = 0 } = this.#result ?? {}
    const at = now()
    const last = this.#result?.failed ?? attempt
    const losses = this.#result?.translation?.losses ?? null
    const ended: CallOutcome = {
      ...masked(outcome, mask),
      responseModel: outcome.responseModel && mask(outcome.responseModel.slice(0, MAX_MODEL_LENGTH)),
      responseId: this.#keepsAnswer ? maskedId(outcome.responseId, mask) : null,
      containerId: maskedId(outcome.containerId, mask),
      latencyMs: this.elapsed(),
      tokens: attempt.tokens,
    }
    this.#closed = true
    void store.write({
      kind: 'close',
      id: this.call.id,
      at,
      requestsSent,
      fallbacks,
      target,
      ended: this.#hit ? null : masked({ ...last, n, target, losses }, mask),
      cost: price(target, last.tokens, at),
      ...(this.#earlier && { earlier: this.#earlier }),
      outcome: ended,
    })
    this.#arrival.admitted.over()
    store.saveArtifact(this.call.id, this.#trace.weight, this.#trace.ended(ended, mask))
  }
}

/** Maximum characters of a model's name to mask. The record keeps fewer, so no secret is cut in two. */
const MAX_MODEL_LENGTH = 4_096

const maskedId = (id: string | null | undefined, mask: Mask): string | null =>
  id ? mask(id.slice(0, MAX_MODEL_LENGTH)) : null

/** Returns true if a provider answered the call; a refusal says nothing about its speed. */
const isAnswer = ({ answer }: SendResult): boolean =>
  answer.kind === 'stream' || (answer.kind === 'whole' && answer.parsed !== null)

/** Returns true if the client wants its answer neither from the cache nor in it. */
const declinesCache = (headers: IncomingHttpHeaders): boolean =>
  /\bno-store\b/i.test(headers['cache-control'] ?? '')

/** Masks the error code: a provider may put anything into it, even its key. */
const masked = <T extends { readonly errorCode: string | null }>(end: T, mask: Mask): T =>
  end.errorCode === null ? end : { ...end, errorCode: mask(end.errorCode) }
