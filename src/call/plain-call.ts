// A call from its request to its closed record, if it is plain: a model with a plan (`plan.ts`), an answer in the client's
// own dialect, and nothing else. The steps of `PlainCall` are in the order of execution: admit, read, plan, record, send,
// answer, close. A call that is not plain continues as `ClientCall` before it is on record. After that, a stream, and a
// call whose attempt does not end with a plain answer, continue there with their record and their exchange. Both ways do
// the same for such a call.
import { isAscii } from 'node:buffer'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { type AnswerTrace, CallTrace, elapsedSince } from '../core/artifact.ts'
import type { Call, ParsedEvent } from '../core/call.ts'
import { asGatewayError } from '../core/errors.ts'
import { planLimitsIn } from '../credentials/plan-limits.ts'
import type { ClientRequest } from '../dialects/blocks.ts'
import type { ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import { type BodyTaker, type JsonBody, readJson } from '../http/body.ts'
import { agentOf, purposeOf, sessionOf } from '../http/client.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { delivered, encodeHeader, relayedHeaders, replyRelayed } from '../http/reply.ts'
import { withModel } from '../json/splice.ts'
import { UNCOUNTED_BYTES, type UpstreamExchange } from '../providers/exchange.ts'
import type { AttemptTracker } from '../routing/routing-state.ts'
import { after, detached, once, REPORTED, stray } from '../shared/boundary.ts'
import { clock, type Timer } from '../shared/clock.ts'
import { isOtherModel } from '../shared/model-names.ts'
import { mustWait } from '../shared/turns.ts'
import { originOf } from '../websocket/inner-socket.ts'
import { closingOf, ending, MAX_NAME_LENGTH } from './answer.ts'
import type { CallContext } from './context.ts'
import { describedCall, othersIn, readRequest, smallLast } from './find-route.ts'
import { unrecorded } from './general-call.ts'
import { ClientCall } from './pipeline.ts'
import type { CallPlan } from './plan.ts'
import { referencesOf } from './provider-state.ts'

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
    handle: (admitted, response, context) => new PlainCall(dialect, admitted, response, context).admit(),
  }))

/** Maximum pieces of a plain answer. */
const MAX_PIECES = 4
const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d]

type Controller = Dispatcher.DispatchController

class PlainCall implements BodyTaker, Dispatcher.DispatchHandler {
  readonly #dialect: ClientDialect
  readonly #admitted: Admitted
  readonly #response: ServerResponse
  readonly #context: CallContext
  /** Arrival in ms of the `performance` clock. */
  readonly #start = clock.monotonic()
  #state: 'arriving' | 'on record' | 'closed' = 'arriving'
  /** True once the client has disconnected. */
  #isGone = false
  /** The call on the general way; null while it is plain. */
  #general: ClientCall | null = null

  // Known from the plan on.
  #plan!: CallPlan
  #tracker: AttemptTracker | null = null
  #request!: ClientRequest
  #keepsAnswer = true
  #call!: Call
  #trace!: CallTrace
  /** The request for the provider, until it is sent. */
  #sending: { readonly path: string; readonly headers: readonly string[]; readonly body: Buffer } | null =
    null

  // Known from the attempt on.
  #attempt!: AnswerTrace
  /** Time since the arrival, ms. */
  #sentAt = 0
  #timer: Timer | null = null
  /** The exchange of the general way; null while the call is plain. */
  #exchange: UpstreamExchange | null = null
  #controller: Controller | null = null
  #status = 0
  #headers: IncomingHttpHeaders | null = null
  #bytes: Buffer | null = null
  #pieces = 0
  /** True once the whole answer was read. */
  #isAnswered = false

  constructor(dialect: ClientDialect, admitted: Admitted, response: ServerResponse, context: CallContext) {
    this.#dialect = dialect
    this.#admitted = admitted
    this.#response = response
    this.#context = context
  }

  /** Step 1: asks the limits of the key, which may refuse the call. */
  admit(): void {
    const { caller } = this.#admitted
    once(this.#response, 'close', () => this.#closed(), this.#broken)
    const wait = this.#context.limits.admit(caller.name)
    if (wait === null) this.#read()
    else
      detached(
        wait.then(() => this.#read()),
        (error) => this.refuse(error),
      )
  }

  /** Step 2: reads the body and continues with `body`. */
  #read(): void {
    const { request, slot } = this.#admitted
    readJson(request, this.#context.config.server.body_limit, slot, this)
  }

  /** Step 3: finds the plan, and makes the request for the provider. The parsed body is released on return. */
  body(body: JsonBody, bytes: Buffer | null): void {
    try {
      const read = readRequest(this.#dialect, body, this.#admitted, this.#context)
      const sessionId = sessionOf(this.#admitted.request.headers, read.sessionHints)
      const plan = this.#planFor(body, read, sessionId)
      this.#sending = plan && bytes && this.#edited(plan, read.request, body, bytes)
      this.#tracker = this.#sending && plan!.begin()
      if (this.#tracker && this.#reserves(plan!, body, read, sessionId))
        this.#record(plan!, body, read, sessionId, bytes!)
      else {
        this.#tracker?.over()
        this.#tracker = null
        this.#generally().begin(body, read)
      }
    } catch (error) {
      this.refuse(error)
    }
  }

  /** Returns the plan of a call; null if the call is not plain. */
  #planFor(body: JsonBody, { request, traits, noKeeper }: ReadRequest, sessionId: string | null) {
    const { plans, providers, keptKeys } = this.#context
    const { caller, request: incoming, isKept } = this.#admitted
    if (isKept || keptKeys.has(caller.name)) return null
    if (!plans || caller.credential || noKeeper || request.lost) return null
    if (request.isBackground) return null
    const plan = plans(request.model, this.#dialect)
    if (!plan || originOf(incoming)) return null
    if (!plan.takesSessions && sessionId !== null) return null
    if (plan.doubtful.some(({ upstream, model }) => upstream.translation!(request, model))) return null
    const sized = smallLast(plan.route, { text: request.text, json: body.json, traits }, providers)
    return sized === plan.route && !referencesOf(this.#dialect, body, caller) ? plan : null
  }

  /** Returns the request for the provider; null if more must change than its model and what the plan adds. */
  #edited(plan: CallPlan, request: ClientRequest, { text, json }: JsonBody, bytes: Buffer) {
    const made = plan.prepared(request, json)
    if (!made || plan.renamed?.(text)) return null
    const { added, ...head } = made
    return { ...head, body: withModel(text, bytes, request.model, plan.model, added) }
  }

  /** Reserves the possible cost of the call. Returns false if a target must be left out, or other gateways asked. */
  #reserves(
    { route }: CallPlan,
    { json }: JsonBody,
    { request, traits }: ReadRequest,
    sessionId: string | null,
  ) {
    const { caller, requestId: callId } = this.#admitted
    const { limits } = this.#context
    if (!limits.hasBudget(caller.name)) return true
    const others = othersIn(json, request, this.#dialect.name, this.#context)
    const keyName = caller.name
    return limits.reserveAtOnce({ callId, keyName, sessionId, route, traits, body: json, others })
  }

  /** Step 4: records the call before sending its first byte. Refuses the call if the write fails. */
  #record(plan: CallPlan, body: JsonBody, read: ReadRequest, sessionId: string | null, bytes: Buffer): void {
    const { headers } = this.#admitted.request
    const { config, store } = this.#context
    const { request, purpose, traits, keepsAnswer = true } = read
    this.#plan = plan
    this.#request = request
    this.#keepsAnswer = keepsAnswer
    this.#call = describedCall(
      this.#admitted,
      request,
      {
        sessionId,
        agentId: agentOf(headers),
        purpose: purpose ?? purposeOf(headers, traits),
        traceparent: null,
        transport: 'http',
        cache: 'BYPASS',
      },
      this.#context,
    )
    this.#trace = new CallTrace(this.#call, headers, body, config.artifacts.bodies, this.#start, bytes.length)
    store.open({ kind: 'open', call: this.#call, route: plan.route }, (cause) => {
      if (cause === null) this.#send()
      else this.refuse(unrecorded(cause))
    })
  }

  /** Step 5: sends the call to the provider. The general way reads the answer if it is a stream. */
  #send(): void {
    this.#state = 'on record'
    try {
      const { target, provider } = this.#plan
      const { path, headers, body } = this.#sending!
      const { origin, dispatcher } = provider
      this.#sending = null
      this.#attempt = this.#trace.exchange(target, path, headers, body)
      this.#sentAt = this.#elapsed()
      this.#tracker!.attempt(target, this.#sentAt)
      const reader = this.#request.stream ? this.#goOn() : this
      if (this.#isGone) {
        this.#goOn().abort()
        return
      }
      const late = () => this.#goOn().timeOut()
      if (reader === this) this.#timer = after(this.#context.config.resilience.answer, late, this.#broken)
      const wait = { headersTimeout: 0, bodyTimeout: 0 }
      dispatcher.dispatch(
        { origin, path, method: 'POST', headers: headers as string[], body, ...wait },
        reader,
      )
    } catch (thrown) {
      this.#broken(thrown)
    }
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    this.#exchange?.onRequestStart(controller)
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    const type = headers['content-type']
    if (this.#exchange) this.#exchange.onResponseStart(controller, status, headers)
    else if (status < 200) return
    else if (status > 200 || headers['content-encoding'] || (type !== undefined && !/\bjson\b/i.test(type)))
      this.#goOn().onResponseStart(controller, status, headers)
    else {
      this.#status = status
      this.#headers = headers
      this.#attempt.responseStarted(status, headers)
    }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const size = (this.#bytes?.length ?? 0) + chunk.length
    if (this.#exchange) this.#exchange.onResponseData(controller, chunk)
    else if (size > UNCOUNTED_BYTES || ++this.#pieces > MAX_PIECES)
      this.#goOn().onResponseData(controller, chunk)
    else {
      this.#attempt.chunk(chunk)
      this.#bytes = this.#bytes ? Buffer.concat([this.#bytes, chunk]) : chunk
      if (mustWait(this.#call.keyName, chunk.length)) this.#goOn().readInTurn()
    }
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    if (this.#exchange) {
      this.#exchange.onResponseEnd(controller, trailers)
      return
    }
    try {
      const parsed = this.#readAnswer()
      if (parsed) this.#answer(parsed)
      else this.#goOn().onResponseEnd(controller, trailers)
    } catch (thrown) {
      this.#broken(thrown)
    }
  }

  onResponseError(controller: Controller | null, error: Error): void {
    try {
      this.#goOn().onResponseError(controller, error)
    } catch (thrown) {
      stray(thrown) // undici would make it an error that ends the process
    }
  }

  /** Reads the answer; null if it is not plain. */
  #readAnswer(): ParsedEvent | null {
    const { provider, upstream } = this.#plan
    const bytes = this.#bytes
    if (!bytes || bytes[0] !== OPEN_BRACE || bytes.at(-1) !== CLOSE_BRACE) return null
    if (provider.credentials.holdsSecret(bytes)) return null
    try {
      const parsed = upstream.readAnswer(bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8'))
      return parsed.error || parsed.sent || parsed.responseId || parsed.containerId ? null : parsed
    } catch {
      return null
    }
  }

  /** Step 6: sends the answer to the client. Continues with `#close`. */
  #answer(parsed: ParsedEvent): void {
    const { target, upstream, headers: constant } = this.#plan
    const { mask, config } = this.#context
    const { id, sessionId, keyName } = this.#call
    const { requestIdHeader } = this.#dialect
    this.#timer?.close()
    this.#isAnswered = true
    this.#attempt.end('complete')
    const ttftMs = this.#elapsed()
    this.#tracker!.answered(ttftMs)
    const headers = relayedHeaders(this.#headers!, upstream.relayedHeaders, mask)
    headers['x-gateway-request-id'] = id
    for (let at = 0; at < constant.length; at += 2) headers[constant[at]!] = constant[at + 1]
    if (sessionId !== null) headers['x-gateway-session-id'] = encodeHeader(sessionId)
    if (!headers[requestIdHeader]) headers[requestIdHeader] = id
    if (isOtherModel(target.model, parsed.model))
      headers['x-gateway-response-model'] = encodeHeader(mask(parsed.model).slice(0, MAX_NAME_LENGTH))
    replyRelayed(this.#response, this.#status, this.#bytes!, headers)
    delivered(this.#response, keyName, config.resilience.idle, (whole) => {
      try {
        this.#close(parsed, ttftMs, whole)
      } catch (thrown) {
        this.#broken(thrown)
      }
    })
  }

  /** Step 7: closes the record. */
  #close(parsed: ParsedEvent, ttftMs: number, whole: boolean): void {
    if (this.#state === 'closed') return
    this.#tracker!.over()
    const { store, mask } = this.#context
    const { target, upstream } = this.#plan
    const { id } = this.#call
    const status = this.#status
    const headers = this.#headers!
    const tier = parsed.tokens && upstream.tierOf?.(headers)
    const tokens = tier
      ? { ...parsed.tokens!, served: { ...parsed.tokens!.served, service_tier: tier } }
      : parsed.tokens
    const closing = closingOf(
      {
        id,
        target,
        requestsSent: 1,
        fallbacks: 0,
        outcome: {
          ...ending(whole, status),
          responseModel: parsed.model,
          planLimits: planLimitsIn(headers),
          latencyMs: this.#elapsed(),
          ttftMs,
          tokens,
        },
        ended: { n: 1, target, outcome: 'answered', status, errorCode: null, tokens, transport: 'http' },
      },
      this.#context,
    )
    this.#state = 'closed'
    detached(store.write(closing), this.#broken)
    this.#admitted.over()
    store.saveArtifact(id, this.#trace.weight, this.#trace.ended(closing.outcome, mask))
  }

  // Other ways to go on, and to end.

  /** Returns the call on the general way. */
  #generally(): ClientCall {
    this.#general ??= new ClientCall(
      this.#dialect,
      this.#admitted,
      this.#response,
      this.#context,
      this.#start,
    )
    return this.#general
  }

  /** Hands the call over to the general way, with its record. Returns the exchange, in the state of this attempt. */
  #goOn(): UpstreamExchange {
    if (this.#exchange) return this.#exchange
    this.#timer?.close()
    const exchange = this.#generally().goOn(
      {
        ...{ request: this.#request, route: this.#plan.route, call: this.#call, trace: this.#trace },
        ...{ tracker: this.#tracker!, keepsAnswer: this.#keepsAnswer, isAnswered: this.#isAnswered },
      },
      { trace: this.#attempt, ms: this.#elapsed() - this.#sentAt },
    )
    this.#exchange = exchange
    const begun = this.#headers && { status: this.#status, headers: this.#headers }
    exchange.takeOver(this.#controller, begun, this.#bytes)
    this.#bytes = null
    return exchange
  }

  refuse(error: unknown): typeof REPORTED {
    this.#tracker?.over()
    return this.#admitted.refuse(error)
  }

  /** The response was closed: the client has disconnected, or has its answer. */
  #closed(): void {
    if (this.#response.writableFinished) return
    this.#isGone = true
    if (this.#general) this.#general.leave()
    else if (this.#state === 'on record' && !this.#isAnswered) this.#goOn().abort()
  }

  /** Ends the call after a fault of the gateway. */
  readonly #broken = (thrown: unknown): typeof REPORTED => {
    if (this.#state === 'closed') {
      if (asGatewayError(thrown).status >= 500) this.#context.onFault(thrown, this.#call.id)
      return REPORTED
    }
    if (this.#state === 'on record') this.#goOn()
    if (this.#general) return this.#general.fault(thrown)
    this.#isGone = true
    return this.refuse(thrown)
  }

  /** Returns milliseconds since the call arrived. */
  #elapsed(): number {
    return elapsedSince(this.#start)
  }
}
