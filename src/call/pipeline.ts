// One call from its request to its closed record, the same for every dialect. The steps of `ClientCall` are
// in the order of execution, and each step starts the next: admit, read, route, record, send, answer, close.
// Branches are in other files: provider-stored state in `provider-state.ts`, the cache in `answer-cached.ts`,
// additional attempts in `../providers/send.ts`, and streams in `answer.ts`. Independent of the dialect.
// Every open record is eventually closed.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { CachedAnswer } from '../cache/recorder.ts'
import type { RouteConfig } from '../config/load.ts'
import { type AnswerTrace, CallTrace } from '../core/artifact.ts'
import { type Call, type Route, type Target, timeOfId } from '../core/call.ts'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { addCosts, costOfAttempt, type KnownCost } from '../core/record.ts'
import { traceHeaders, traceparentOf } from '../core/tracing.ts'
import { planLimitsIn } from '../credentials/plan-limits.ts'
import type { ClientRequest } from '../dialects/client-request.ts'
import type { ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import { type BodyTaker, type JsonBody, readJson } from '../http/body.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { replyError } from '../http/reply.ts'
import type { UpstreamExchange } from '../providers/exchange.ts'
import { type NextAttempt, type SendListener, type SendResult, sendToProvider } from '../providers/send.ts'
import { conversationTooLong } from '../responses-store/response-store.ts'
import type { AttemptTracker } from '../routing/attempt-tracker.ts'
import { detached, once, REPORTED, stray } from '../shared/boundary.ts'
import { clock } from '../shared/clock.ts'
import { originOf } from '../websocket/inner-socket.ts'
import { type Answering, type AnswerResult, answerClient } from './answer.ts'
import { answerCached } from './answer-cached.ts'
import { AnswerKeeping, type Storing } from './answer-keeping.ts'
import type { BackgroundRun } from './background-run.ts'
import { type Closing, closingOf, maskedCode, maskedName } from './closing.ts'
import type { CallContext } from './context.ts'
import { findRoute, type RoutedRequest } from './find-route.ts'
import { type WithItems, withNamedItems } from './named-items.ts'
import { maskingOwn, mayUseCallers } from './own-credential.ts'
import { type KeptState, type NamedState, stateFor } from './provider-state.ts'
import { readRequest } from './read-request.ts'
import { plainIfRunHere, RunHere } from './run-here.ts'

/** Returns the endpoints at which calls of a dialect arrive. */
export const callEndpoints = (dialect: ClientDialect): CallEndpoint<CallContext>[] =>
  [dialect.path, ...(dialect.alsoAt ?? [])].map((path) => ({
    path,
    keyParameter: dialect.keyParameter,
    hasWebSocket: dialect.hasWebSocket,
    summary: dialect.summary,
    request: dialect.schema,
    errorBody: dialect.errorBody,
    errorSchema: dialect.errorSchema,
    requestIdHeader: dialect.requestIdHeader,
    handle: (admitted, response, context) => new ClientCall(dialect, admitted, response, context).admit(),
  }))

class ClientCall implements BodyTaker, Answering, SendListener {
  readonly dialect: ClientDialect
  response: ServerResponse
  readonly context: CallContext
  readonly #admitted: Admitted
  /** Arrival in ms of the `performance` clock. */
  readonly #start = clock.monotonic()
  #state: 'arriving' | 'on record' | 'closed' = 'arriving'
  /** True once the client has disconnected. */
  #isGone = false

  // Known from step 4 on.
  request!: ClientRequest
  route!: Route
  call!: Call
  answerModel!: RouteConfig['answer_model']
  cacheName: string | null = null
  keeping!: AnswerKeeping
  #namesAnswer = true
  #tracker: AttemptTracker | null = null
  /** True for a background call. The run itself exists once the call is described. */
  #runsHere = false
  #here: RunHere | null = null
  /** Id of the continued response, if the gateway has its conversation. */
  #previous: string | null = null
  #conversation: string | null = null
  /** The request as received, with the items that it names. Null if it names none. */
  #turn: string | null = null
  #trace!: CallTrace
  #hit: CachedAnswer | undefined

  // Known from step 5 on.
  /** The open exchange with a provider. Aborted when the client disconnects. */
  #exchange: UpstreamExchange | null = null
  /** Result without the answer, which may be large. Only bytes that the client has not read stay in memory. */
  #sent: Omit<SendResult, 'answer'> | null = null
  /** The background run, if the call continues at its provider. */
  #run: BackgroundRun | null = null
  #planLimits: string | null = null
  /** Cost of the attempts before the current one. */
  #earlier: KnownCost | null = null

  constructor(dialect: ClientDialect, admitted: Admitted, response: ServerResponse, context: CallContext) {
    this.dialect = dialect
    this.response = response
    this.context = maskingOwn(context, admitted.caller.credential)
    this.#admitted = admitted
  }

  /** Step 1: waits for its turn if the key has a rate limit. */
  admit(): void {
    const { response } = this
    const close = () => {
      if (!response.writableFinished) this.#leave()
    }
    once(response, 'close', close, this.broken)
    const wait = this.context.limits.admit(this.#admitted.caller.name)
    if (wait === null) this.#read()
    else this.#whenReady(wait, () => this.#read())
  }

  /** Step 2: reads the body and continues with `body`. */
  #read(): void {
    const { request, slot } = this.#admitted
    readJson(request, this.context.config.server.body_limit, slot, this)
  }

  /**
   * Step 3: finds the route. The parsed body is released on return, unless the record must be queried first.
   */
  body(body: JsonBody): void {
    try {
      const read = readRequest(this.dialect, body, this.#admitted, this.context)
      const plain = read.request.isBackground ? plainIfRunHere(this.dialect, body, read, this.context) : null
      this.#runsHere = plain !== null
      if (plain === null) this.#find(body, read)
      else this.#find(plain, readRequest(this.dialect, plain, this.#admitted, this.context))
    } catch (error) {
      this.refuse(error)
    }
  }

  /**
   * Finds the state that a request names. Items of earlier answers are first put into the request, if the gateway
   * has them; then `isWhole` is true.
   */
  #find(body: JsonBody, read: ReadRequest, isWhole = false): void {
    const { dialect, context } = this
    const items =
      dialect.storing && !isWhole ? withNamedItems(dialect.storing, body, this.#admitted, context) : null
    if (items !== null) {
      this.#whenReady(items, (items) => this.#find(...this.#whole(items, body, read), true))
      return
    }
    const named = stateFor(dialect, body, this.#admitted, context)
    if (named === null) this.#route(body, read, null)
    else this.#whenReady(named, (named) => this.#goOn(body, read, named))
  }

  #whole(items: WithItems | null, body: JsonBody, read: ReadRequest): [JsonBody, ReadRequest] {
    if (items === null) return [body, read]
    const { kept, isLossy, ...whole } = items
    const { request, ...facts } = readRequest(this.dialect, whole.body, this.#admitted, this.context)
    const { text } = whole.body
    const named = kept && { text: kept.text, continues: { keeper: kept.keeper, text } }
    this.#turn = text
    return [whole.body, { ...facts, request: { ...request, ...named, ...(isLossy && { lost: ['store'] }) } }]
  }

  /** Routes a request that continues a conversation. The gateway may have the earlier turns. */
  #goOn(body: JsonBody, read: ReadRequest, { kept, conversation }: NamedState): void {
    if (conversation === null) {
      this.#route(body, read, kept)
      return
    }
    const text = this.dialect.storing!.writeOut(body.text, conversation.items)
    const limit = this.context.config.server.body_limit
    if (text.length > limit) throw conversationTooLong(limit)
    const whole = { ...body, text, json: JSON.parse(text) }
    const { request, ...facts } = readRequest(this.dialect, whole, this.#admitted, this.context)
    const { text: sent, continues: named, lost } = read.request
    const keeper = (named ?? conversation).keeper === conversation.keeper ? conversation.keeper : null
    const before = { text: sent, continues: { keeper, text }, ...(lost && { lost }) }
    this.#previous = this.dialect.storing!.previousIn(body.json)
    this.#route(whole, { ...facts, request: { ...request, ...before } }, kept)
  }

  #route(body: JsonBody, read: ReadRequest, kept: KeptState | null): void {
    const found = findRoute(this.dialect, body, read, kept, this.#admitted, this.context)
    if (found instanceof Promise) this.#whenReady(found, (found) => this.#record(body, found))
    else this.#record(body, found)
  }

  /** Step 4: records the call before sending its first byte. Refuses the call if the write fails. */
  #record(body: JsonBody, found: RoutedRequest): void {
    this.#tracker = found.tracker
    this.#conversation = found.conversation
    this.request = found.request
    this.route = found.route
    this.#lookUp(found)
    this.call = this.#describe(found)
    this.keeping = this.#keepingOf(body, found)
    const { headers } = this.#admitted.request
    this.#trace = new CallTrace(this.call, headers, body, this.context.config.artifacts.bodies, this.#start)
    this.context.store.open({ kind: 'open', call: this.call, route: this.route }, (cause) => {
      if (cause === null) this.#send()
      else {
        const message = 'The call was refused: it could not be recorded.'
        this.refuse(new GatewayError('log_unavailable', message, { cause }))
      }
    })
  }

  /** Step 5: sends the call to the provider, unless the cache has the answer. Continues with `sent`. */
  #send(): void {
    this.#state = 'on record'
    try {
      if (this.#here) this.#beginRun(this.#here)
      else if (this.#hit) answerCached(this.#hit, this)
      else sendToProvider(this.request, this.route, this.#sendOptions())
    } catch (thrown) {
      this.fault(thrown)
    }
  }

  /** Answers the client of a run that the gateway stores, and then sends the call. */
  #beginRun(run: RunHere): void {
    run.begin(this.response, this.context.now(), this.dialect.requestIdHeader).then(
      this.guard((detached) => {
        this.response = detached
        sendToProvider(this.request, this.route, this.#sendOptions())
      }),
      (error) => this.fault(error),
    )
  }

  /** Step 6: answers the client. Continues with `answered`. */
  sent(result: SendResult): void {
    const { answer, ...sent } = result
    this.#sent = sent
    this.#planLimits = planLimitsIn(answer.headers)
    if (isAnswer(result)) this.#tracker?.answered(this.elapsed())
    answerClient(result, this)
  }

  written(): void {
    this.#exchange?.release()
  }

  /** Step 7: closes the record. */
  answered(result: AnswerResult): void {
    try {
      this.#close(result)
    } catch (thrown) {
      this.fault(thrown)
    }
  }

  #close(result: AnswerResult): void {
    if (this.#state === 'closed') return
    this.#tracker?.over()
    this.written()
    const { store, mask, background } = this.context
    const { id } = this.call
    const closing = this.#closingOf(result)
    this.#state = 'closed'
    if (this.#run) background.start(this.#run)
    else detached(store.write(closing), this.broken)
    if (this.#here) detached(this.#here.ended(closing.outcome, this.keeping.isKept), this.broken)
    this.keeping.over()
    this.#admitted.over()
    store.saveArtifact(id, this.#trace.weight, this.#trace.ended(closing.outcome, mask))
  }

  #closingOf({ attempt, outcome }: AnswerResult): Closing {
    const sent = this.#sent
    const latencyMs = this.elapsed()
    const cacheLost =
      sent && this.#run === null && attempt.outcome === 'answered'
        ? this.#tracker!.served(sent.target, sent.credential, attempt.tokens, latencyMs)
        : null
    return closingOf(
      {
        id: this.call.id,
        route: this.route,
        sent,
        planLimits: this.#planLimits,
        earlier: this.#earlier,
        isFromCache: this.#hit !== undefined,
        cacheLost,
        keepsAnswer: this.#namesAnswer,
        latencyMs,
        attempt,
        outcome,
      },
      this.context,
    )
  }

  /** Keeps the record open while the call continues at the provider. */
  async runsOn(result: AnswerResult, responseId: string): Promise<void> {
    const { outcome, ...closing } = this.#closingOf(result)
    const named = { ...outcome, responseId: this.#namesAnswer ? responseId : null }
    this.#run = {
      closing: { ...closing, outcome: named, wasBackground: true },
      dialect: this.dialect.name,
      responseId,
      keyName: this.call.keyName,
    }
    await this.context.store.write({
      kind: 'background',
      id: this.call.id,
      run: JSON.stringify(this.#run),
    })
  }

  // Other ways to end a call.

  /** Refuses a call that is not recorded. */
  refuse(error: unknown): typeof REPORTED {
    this.#tracker?.over()
    return this.#admitted.refuse(error)
  }

  /**
   * Ends a recorded call after a fault of the gateway, or if the request cannot be sent as requested. Possible costs
   * stay recorded, and nothing is left running.
   */
  fault(thrown: unknown): typeof REPORTED {
    try {
      this.#fail(thrown)
    } catch (second) {
      stray(second)
      this.response.destroy()
    }
    return REPORTED
  }

  #fail(thrown: unknown): void {
    const error = asGatewayError(thrown)
    if (this.#state === 'arriving') {
      this.refuse(thrown)
      this.#leave()
      return
    }
    if (error.status >= 500) this.context.onFault(thrown, this.call.id)
    if (this.#state === 'closed') return
    this.#leave()
    replyError(this.response, error, this.call.id, this.dialect)
    const { status, code: errorCode } = error
    this.#close({
      outcome: { state: 'failed', status, errorCode, responseModel: null, ttftMs: null },
      attempt: { outcome: this.#sent ? 'unknown' : 'not_sent', status: null, errorCode, tokens: null },
    })
  }

  readonly broken = (error: unknown): typeof REPORTED => this.fault(error)

  guard<Given>(step: (given: Given) => void): (given: Given) => void {
    return (given) => {
      try {
        step(given)
      } catch (thrown) {
        this.fault(thrown)
      }
    }
  }

  #leave(): void {
    this.#isGone = true
    this.#exchange?.abort()
  }

  /** Continues an unrecorded call once a promise has resolved. Plain calls need no promise. */
  #whenReady<Value>(value: Promise<Value>, step: (value: Value) => void): void {
    detached(value.then(step), (error) => this.refuse(error))
  }

  // Parts of step 4.

  /** Finds the answer in the cache, if this call may use it. */
  #lookUp({ isRepeatable }: RoutedRequest): void {
    const { config, cache } = this.context
    const { name, candidates } = this.route
    const { cache: isCached = config.cache.enabled, answer_model = 'provider' } =
      (name !== null && config.routes[name]) || {}
    this.answerModel = answer_model
    const isOwn = mayUseCallers(this.route, this.context)
    if (
      !isCached ||
      !isRepeatable ||
      this.#runsHere ||
      isOwn ||
      declinesCache(this.#admitted.request.headers)
    )
      return
    this.cacheName = cache.name({
      endpoint: this.dialect.path,
      keyName: this.#admitted.caller.name,
      answerModel: answer_model,
      identity: this.dialect.cacheIdentity(this.request),
      stream: this.request.stream,
    })
    if (this.cacheName !== null) this.#hit = cache.get(this.cacheName, candidates[0])
  }

  #keepingOf({ json }: JsonBody, { request, keepsAnswer }: RoutedRequest): AnswerKeeping {
    const { store, mask, responses, items, onFault } = this.context
    const { storing } = this.dialect
    this.#namesAnswer = keepsAnswer
    const { keyName, id: callId } = this.call
    const mayKeep = storing?.mayKeep(json) === true
    const kept = mayKeep &&
      responses !== null && {
        ...{ store: responses, text: this.#turn ?? request.text },
        ...{ storing, keyName },
        previous: this.#previous ?? storing.previousIn(json),
      }
    if (kept && this.#runsHere)
      this.#here = new RunHere({ ...kept, callId, stop: () => this.#leave() }, this.context.runsHere)
    const stored: Storing | null = kept ? { ...kept, runId: this.#here?.id ?? null } : null
    return new AnswerKeeping({
      ...{ callId, write: store.write, mask, namesAnswer: keepsAnswer, stored },
      remembered: mayKeep
        ? { items, named: storing.named, openCollector: storing.openCollector, keyName }
        : null,
      onFault: (error) => onFault(error, callId),
    })
  }

  #describe({ request, sessionId, agentId, purpose }: RoutedRequest): Call {
    const { caller, requestId: id, path, request: incoming } = this.#admitted
    const { tracing, clientOf, replay } = this.context
    return {
      id,
      createdAt: timeOfId(id),
      endpoint: path.replace('*', '{model}'),
      requestedModel: request.model,
      sessionId,
      agentId,
      purpose,
      client: clientOf(incoming.headers),
      traceparent: tracing && traceparentOf(incoming.headers),
      keyName: caller.name,
      stream: request.stream,
      replayed: replay,
      transport: originOf(incoming) ? 'websocket' : 'http',
      cache: this.#hit ? 'HIT' : this.cacheName === null ? 'BYPASS' : 'MISS',
    }
  }

  // Parts of step 5, called for each candidate.

  #sendOptions() {
    const { config, providers } = this.context
    const { stream_first_event, answer, idle, retries, cooldown } = config.resilience
    const limits = { responseStart: this.request.stream ? stream_first_event : answer, idle }
    const { keyName } = this.call
    const { credential: caller = null } = this.#admitted.caller
    const { name } = this.route
    const onRefused = name === null ? undefined : config.routes[name]?.on_refused
    const adjusting = { onRefused, learned: this.context.learned }
    return {
      dialect: this.dialect.name,
      ...{ providers, limits, retries, cooldown, keyName, caller, adjusting },
      session: this.#conversation === null ? null : `${keyName} ${this.#conversation}`,
      showsRefusals: config.keys.length === 0,
      listener: this,
    }
  }

  trace(target: Target, path: string, headers: readonly string[], body: string): AnswerTrace {
    return this.#trace.exchange(target, path, headers, body)
  }

  traceHeaders(n: number): readonly string[] {
    const { tracing } = this.context
    return tracing ? traceHeaders(this.call, n, tracing, this.#admitted.request.headers) : []
  }

  sending(target: Target, exchange: UpstreamExchange): boolean {
    this.#tracker?.attempt(target, this.elapsed())
    this.written()
    this.#exchange = exchange
    return !this.#isGone
  }

  failed(target: Target, ms: number): void {
    this.context.router.cool(target, ms)
  }

  async next({ n, target, fallbacks, requestsSent, before }: NextAttempt): Promise<boolean> {
    const { store, price, mask, now } = this.context
    const at = now()
    const errorCode = maskedCode(before.end.errorCode, mask)
    const refusal = maskedName(before.end.refusal, mask)
    const ended = { ...before.end, errorCode, refusal, n: n - 1, target: before.target }
    const cost = price(ended.target, ended.tokens, at)
    const { id } = this.call
    try {
      await store.write({ kind: 'next', id, at, ended, cost, target, fallbacks, requestsSent })
      const spent = costOfAttempt({ ended, cost })
      this.#earlier = this.#earlier ? addCosts(this.#earlier, spent) : spent
      return true
    } catch {
      return false // The attempt could not be recorded and is therefore not made. The client receives the earlier result.
    }
  }

  // Part of step 6.

  /** Returns milliseconds since the call arrived. */
  elapsed(): number {
    return Math.round((clock.monotonic() - this.#start) * 100) / 100
  }
}

/** Returns true if a provider answered the call. Refusals are ignored, because they say nothing about speed. */
const isAnswer = ({ answer }: SendResult): boolean =>
  answer.kind === 'stream' || (answer.kind === 'whole' && answer.parsed !== null)

/** Returns true if the client forbids reading its answer from the cache and storing it there. */
const declinesCache = (headers: IncomingHttpHeaders): boolean =>
  /\bno-store\b/i.test(headers['cache-control'] ?? '')
