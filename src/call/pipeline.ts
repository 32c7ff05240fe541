// The general way of a call, from its body to its closed record, the same for every dialect. `PlainCall` in `plain-call.ts`
// hands over all calls that are not plain. The steps of `ClientCall` are in the order of execution, and each step starts
// the next: route, record, send, answer, close. Branches are in other files: provider-stored state in `provider-state.ts`,
// additional attempts in `../providers/send.ts`, and streams in `answer.ts`. Independent of the dialect.
// Every open record is eventually closed.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { CachedAnswer } from '../cache/response-cache.ts'
import type { RouteConfig } from '../config/load.ts'
import { type AnswerTrace, CallTrace } from '../core/artifact.ts'
import type { Call, Route, Target } from '../core/call.ts'
import { conversationTooLong, GatewayError } from '../core/errors.ts'
import { addCosts, costOfAttempt, type KnownCost } from '../core/record.ts'
import { traceHeaders, traceparentOf } from '../core/tracing.ts'
import { planLimitsIn } from '../credentials/plan-limits.ts'
import type { ClientRequest } from '../dialects/blocks.ts'
import type { ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import type { JsonBody } from '../http/body.ts'
import type { Admitted } from '../http/endpoint.ts'
import type { UpstreamExchange } from '../providers/exchange.ts'
import {
  type BegunAttempt,
  goOnSending,
  lossesOf,
  type NextAttempt,
  type SendListener,
  type SendResult,
  sendToProvider,
} from '../providers/send.ts'
import type { AttemptTracker } from '../routing/routing-state.ts'
import { detached, type REPORTED } from '../shared/boundary.ts'
import type { Keeping } from '../store/kept.ts'
import type { EndedAttempt } from '../store/writes.ts'
import { originOf } from '../websocket/inner-socket.ts'
import {
  type Answering,
  type AnswerResult,
  answerCached,
  answerClient,
  type Closing,
  closingOf,
} from './answer.ts'
import { AnswerKeeping, type Storing } from './answer-keeping.ts'
import type { BackgroundRun, CallContext } from './context.ts'
import { describedCall, findRoute, mayUseCallers, type RoutedRequest, readRequest } from './find-route.ts'
import { GeneralCall } from './general-call.ts'
import { type WithItems, withNamedItems } from './named-items.ts'
import { type KeptState, type NamedState, stateFor } from './provider-state.ts'
import { plainIfRunHere, RunHere } from './run-here.ts'

/** A plain call that is on record, as far as the general way needs it. */
export interface RecordedCall {
  readonly request: ClientRequest
  readonly route: Route
  readonly call: Call
  readonly tracker: AttemptTracker
  readonly trace: CallTrace
  readonly keepsAnswer: boolean
  /** True if a fault ends the call after its answer was read. */
  readonly isAnswered: boolean
}

export class ClientCall extends GeneralCall<UpstreamExchange> implements Answering, SendListener {
  readonly dialect: ClientDialect

  // Known from step 4 on.
  request!: ClientRequest
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
  /** The request as received, if the gateway can keep calls. */
  #received: { readonly request: string; readonly forwarded: readonly string[] } | null = null
  #kept: Keeping | null = null
  #trace!: CallTrace
  #hit: CachedAnswer | undefined

  // Known from step 5 on.
  /** Result without the answer, which may be large. Only bytes that the client has not read stay in memory. */
  #sent: Omit<SendResult, 'answer'> | null = null
  /** The background run, if the call continues at its provider. */
  #run: BackgroundRun | null = null
  #planLimits: string | null = null
  /** Cost of the attempts before the current one. */
  #earlier: KnownCost | null = null

  constructor(
    dialect: ClientDialect,
    admitted: Admitted,
    response: ServerResponse,
    context: CallContext,
    start: number,
  ) {
    super(admitted, response, context, start)
    this.dialect = dialect
  }

  protected get wording(): ClientDialect {
    return this.dialect
  }

  /**
   * Step 3: finds the route of a request that is not on record. The parsed body is released on return, unless the record
   * must be queried first.
   */
  begin(body: JsonBody, read: ReadRequest): void {
    try {
      const { forwarded } = read.request
      if (this.context.kept) this.#received = { request: body.text, forwarded }
      const plain = read.request.isBackground ? plainIfRunHere(this.dialect, body, read, this.context) : null
      this.#runsHere = plain !== null
      if (plain === null) this.#find(body, read)
      else this.#find(plain, readRequest(this.dialect, plain, this.admitted, this.context))
    } catch (error) {
      this.refuse(error)
    }
  }

  /**
   * Takes over a call that is on record, and whose request was sent `ms` ago. Returns its exchange, for the events of the
   * answer.
   */
  takeOver(given: RecordedCall, attempt: BegunAttempt): UpstreamExchange {
    const { request, route, call, tracker, trace, keepsAnswer, isAnswered } = given
    Object.assign(this, { request, route, call })
    this.answerModel = 'provider'
    this.#tracker = tracker
    this.#trace = trace
    this.#namesAnswer = keepsAnswer
    this.keeping = this.#keepingOf(null, keepsAnswer)
    this.state = 'on record'
    if (isAnswered) this.#sent = firstSent(route.candidates[0])
    this.exchange = goOnSending(request, route, this.#sendOptions(), attempt)
    return this.exchange
  }

  /**
   * Finds the state that a request names. Items of earlier answers are first put into the request, if the gateway
   * has them; then `isWhole` is true.
   */
  #find(body: JsonBody, read: ReadRequest, isWhole = false): void {
    const { dialect, context } = this
    const items =
      dialect.storing && !isWhole ? withNamedItems(dialect.storing, body, this.admitted, context) : null
    if (items !== null) {
      this.#whenReady(items, (items) => this.#find(...this.#whole(items, body, read), true))
      return
    }
    const named = stateFor(dialect, body, this.admitted, context)
    if (named === null) this.#route(body, read, null)
    else this.#whenReady(named, (named) => this.#goOn(body, read, named))
  }

  #whole(items: WithItems | null, body: JsonBody, read: ReadRequest): [JsonBody, ReadRequest] {
    if (items === null) return [body, read]
    const { kept, isLossy, ...whole } = items
    const { request, ...facts } = readRequest(this.dialect, whole.body, this.admitted, this.context)
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
    const { request, ...facts } = readRequest(this.dialect, whole, this.admitted, this.context)
    const { text: sent, continues: named, lost } = read.request
    const keeper = (named ?? conversation).keeper === conversation.keeper ? conversation.keeper : null
    const before = { text: sent, continues: { keeper, text }, ...(lost && { lost }) }
    this.#previous = this.dialect.storing!.previousIn(body.json)
    this.#route(whole, { ...facts, request: { ...request, ...before } }, kept)
  }

  #route(body: JsonBody, read: ReadRequest, kept: KeptState | null): void {
    const found = findRoute(this.dialect, body, read, kept, this.admitted, this.context)
    if (found instanceof Promise) this.#whenReady(found, (found) => this.#prepare(body, found))
    else this.#prepare(body, found)
  }

  /** Step 4: describes the call and records it. */
  #prepare(body: JsonBody, found: RoutedRequest): void {
    this.#tracker = found.tracker
    this.#conversation = found.conversation
    this.request = found.request
    this.route = found.route
    this.#lookUp(found)
    this.call = this.#describe(found)
    this.keeping = this.#keepingOf(body.json, found.keepsAnswer)
    this.#kept = this.#keepWhole()
    const { headers } = this.admitted.request
    this.#trace = new CallTrace(
      ...([this.call, headers, body, this.context.config.artifacts.bodies, this.arrival] as const),
    )
    this.record()
  }

  /** Step 5: sends the call to the provider, unless the cache has the answer. Continues with `sent`. */
  protected send(): void {
    if (this.#here) this.#beginRun(this.#here)
    else if (this.#hit) answerCached(this.#hit, this)
    else sendToProvider(this.request, this.route, this.#sendOptions())
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
    this.exchange?.release()
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
    if (this.state === 'closed') return
    this.#tracker?.over()
    this.written()
    const { store, mask, background } = this.context
    const { id } = this.call
    const closing = this.#closingOf(result)
    this.state = 'closed'
    if (this.#run) background.start(this.#run)
    this.over(this.#run ? null : closing)
    if (this.#here) detached(this.#here.ended(closing.outcome, this.keeping.isKept), this.broken)
    this.keeping.over()
    this.#kept?.end()
    store.saveArtifact(id, this.#trace.weight, this.#trace.ended(closing.outcome, mask))
  }

  #closingOf({ attempt, outcome }: AnswerResult): Closing {
    const sent = this.#sent
    const latencyMs = this.elapsed()
    const cacheLost =
      sent && this.#run === null && attempt.outcome === 'answered'
        ? this.#tracker!.served(sent.target, sent.credential, attempt.tokens, latencyMs)
        : null
    const target = sent?.target ?? this.route.candidates[0]
    const { requestsSent = 0, fallbacks = 0, n = 1, failed, adjusted = [] } = sent ?? {}
    const { tokens } = attempt
    const ended: EndedAttempt = {
      ...{ ...(failed ?? attempt), n, target },
      ...{ credential: sent?.credential ?? null, transport: sent?.transport ?? null },
      ...{ losses: sent && lossesOf(sent), adjusted: adjusted.length > 0 ? adjusted : null },
    }
    return closingOf(
      {
        ...{ id: this.call.id, target, requestsSent, fallbacks, earlier: this.#earlier },
        ended: this.#hit === undefined ? ended : null,
        outcome: {
          ...{ ...outcome, responseId: (this.#namesAnswer && outcome.responseId) || null },
          ...{ cacheLost, planLimits: this.#planLimits, latencyMs, tokens },
        },
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

  override refuse(error: unknown): typeof REPORTED {
    this.#tracker?.over()
    return super.refuse(error)
  }

  protected closeFailed({ status, code: errorCode }: GatewayError): void {
    this.#close({
      outcome: { state: 'failed', status, errorCode, responseModel: null, ttftMs: null },
      attempt: { outcome: this.#sent ? 'unknown' : 'not_sent', status: null, errorCode, tokens: null },
    })
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
    if (!isCached || !isRepeatable || this.#runsHere || isOwn || declinesCache(this.admitted.request.headers))
      return
    this.cacheName = cache.name({
      endpoint: this.dialect.path,
      keyName: this.admitted.caller.name,
      answerModel: answer_model,
      identity: this.dialect.cacheIdentity(this.request),
      stream: this.request.stream,
    })
    if (this.cacheName !== null) this.#hit = cache.get(this.cacheName, candidates[0])
  }

  /** `json`: the request; null if its answer is not kept. */
  #keepingOf(json: JsonBody['json'] | null, keepsAnswer: boolean): AnswerKeeping {
    const { store, mask, responses, items, onFault } = this.context
    const { storing } = this.dialect
    this.#namesAnswer = keepsAnswer
    const { keyName, id: callId } = this.call
    const mayKeep = json !== null && storing?.mayKeep(json) === true
    const kept = mayKeep &&
      responses !== null && {
        ...{ store: responses, text: this.#turn ?? this.request.text },
        ...{ storing, keyName },
        previous: this.#previous ?? storing.previousIn(json),
      }
    if (kept && this.#runsHere)
      this.#here = new RunHere({ ...kept, callId, stop: () => this.leave() }, this.context.runsHere)
    const stored: Storing | null = kept ? { ...kept, runId: this.#here?.id ?? null } : null
    return new AnswerKeeping({
      ...{ callId, write: store.write, mask, namesAnswer: keepsAnswer, stored },
      remembered: mayKeep
        ? { items, named: storing.named, openCollector: storing.openCollector, keyName }
        : null,
      onFault: (error) => onFault(error, callId),
    })
  }

  /** Begins to keep the call, if its client, its key or its route asks for it. */
  #keepWhole(): Keeping | null {
    const { kept, keptKeys, config } = this.context
    const { caller, isKept, rest, query, path } = this.admitted
    const { name } = this.route
    const received = this.#received
    this.#received = null
    if (!isKept && !keptKeys.has(caller.name) && !(name !== null && config.routes[name]?.keep)) return null
    if (kept && received)
      return kept.begin(this.call, { path: path.replace('*', rest), query, ...received }, this.response)
    throw new GatewayError(
      'invalid_request',
      'This gateway cannot keep calls, because it has no key to encrypt them: `openssl rand -base64 32 | waybill key set WAYBILL_RESPONSES_KEY`, then restart it.',
    )
  }

  #describe({ request, sessionId, agentId, purpose }: RoutedRequest): Call {
    const { request: incoming } = this.admitted
    const { tracing } = this.context
    return describedCall(
      this.admitted,
      request,
      {
        ...{ sessionId, agentId, purpose },
        traceparent: tracing && traceparentOf(incoming.headers),
        transport: originOf(incoming) ? 'websocket' : 'http',
        cache: this.#hit ? 'HIT' : this.cacheName === null ? 'BYPASS' : 'MISS',
      },
      this.context,
    )
  }

  // Parts of step 5, called for each candidate.

  #sendOptions() {
    const { config, providers } = this.context
    const { stream_first_event, answer, idle, retries, cooldown } = config.resilience
    const limits = { responseStart: this.request.stream ? stream_first_event : answer, idle }
    const { keyName } = this.call
    const { credential: caller = null } = this.admitted.caller
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
    return tracing ? traceHeaders(this.call, n, tracing, this.admitted.request.headers) : []
  }

  sending(target: Target, exchange: UpstreamExchange): boolean {
    this.#tracker?.attempt(target, this.elapsed())
    this.written()
    this.exchange = exchange
    return !this.isGone
  }

  failed(target: Target, ms: number): void {
    this.context.router.cool(target, ms)
  }

  async next({ n, target, fallbacks, requestsSent, before }: NextAttempt): Promise<boolean> {
    const ended = { ...before.end, n: n - 1, target: before.target }
    try {
      const spent = costOfAttempt(await this.recordNext({ ended, target, fallbacks, requestsSent }))
      this.#earlier = this.#earlier ? addCosts(this.#earlier, spent) : spent
      return true
    } catch {
      return false // The attempt could not be recorded and is therefore not made. The client receives the earlier result.
    }
  }
}

/** Returns how a call was sent whose first attempt was answered. */
const firstSent = (target: Target): Omit<SendResult, 'answer'> => ({
  ...{ n: 1, target, requestsSent: 1, fallbacks: 0, from: target, failed: null, transport: 'http' },
  ...{
    translation: null,
    answerTranslation: null,
    adjusted: [],
    renamed: [],
    credential: null,
    moveLosses: [],
  },
})

/** Returns true if a provider answered the call. Refusals are ignored, because they say nothing about speed. */
const isAnswer = ({ answer }: SendResult): boolean =>
  answer.kind === 'stream' || (answer.kind === 'whole' && answer.parsed !== null)

/** Returns true if the client forbids reading its answer from the cache and storing it there. */
const declinesCache = (headers: IncomingHttpHeaders): boolean =>
  /\bno-store\b/i.test(headers['cache-control'] ?? '')
