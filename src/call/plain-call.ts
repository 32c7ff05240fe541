// A plain call, from its request to its closed record: its model has a plan (`plan.ts`), which holds what all its calls
// share, its answer is whole and in the client's own dialect, and nothing else is needed. `PlainCall` has its steps
// first, in the order of execution: admit, read, plan, record, send, answer, close. Every other call leaves for the general
// way (`ClientCall` in `pipeline.ts`): in step 3, before it is on record, or later, with its record and its open exchange.
// A stream does so in step 5, and a call whose attempt does not end with a plain answer when that is known. Where both
// ways serve a call, they do the same.
import { isAscii } from 'node:buffer'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { type AnswerTrace, CallTrace, elapsedSince } from '../core/artifact.ts'
import type { ParsedEvent } from '../core/call.ts'
import { asGatewayError } from '../core/errors.ts'
import { planLimitsIn } from '../credentials/plan-limits.ts'
import type { ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import { type BodyTaker, type JsonBody, readJson } from '../http/body.ts'
import { agentOf, purposeOf, sessionOf } from '../http/client.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { delivered, encodeHeader, relayedHeaders, replyRelayed } from '../http/reply.ts'
import { withModel } from '../json/splice.ts'
import type { StatusAndHeaders } from '../providers/attempt-result.ts'
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
import { ClientCall, type RecordedCall } from './pipeline.ts'
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

/** The request for the provider. */
interface Edited {
  readonly path: string
  readonly headers: readonly string[]
  readonly body: Buffer
}

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

  // Known from steps 3 and 4 on.
  #plan!: CallPlan
  #tracker: AttemptTracker | null = null
  #recorded!: Omit<RecordedCall, 'isAnswered'>

  // Known while the request is at the provider.
  #attempt!: AnswerTrace
  /** When the request was sent, ms since the arrival. */
  #sentAt = 0
  #timer: Timer | null = null
  #controller: Controller | null = null
  #head: StatusAndHeaders | null = null
  #bytes: Buffer | null = null
  #pieces = 0
  /** True once a plain answer was read. */
  #isAnswered = false

  /** The call on the general way, and its exchange if it was handed over on record; null while the call is plain. */
  #general: ClientCall | null = null
  #exchange: UpstreamExchange | null = null

  constructor(dialect: ClientDialect, admitted: Admitted, response: ServerResponse, context: CallContext) {
    this.#dialect = dialect
    this.#admitted = admitted
    this.#response = response
    this.#context = context
  }

  /** Step 1: asks the limits of the key, which may refuse the call. */
  admit(): void {
    once(this.#response, 'close', () => this.#clientClosed(), this.#failed)
    const wait = this.#context.limits.admit(this.#admitted.caller.name)
    if (wait === null) this.#readBody()
    else
      detached(
        wait.then(() => this.#readBody()),
        (error) => this.refuse(error),
      )
  }

  /** Step 2: reads the body. Continues with `onBody`, or with `refuse`. */
  #readBody(): void {
    const { request, slot } = this.#admitted
    readJson(request, this.#context.config.server.body_limit, slot, this)
  }

  /**
   * Step 3: finds the plan, makes the request for the provider, and reserves the possible cost. A call for which that is
   * not possible leaves for the general way. `bytes`: the text of the body; null if it is not as it was received.
   */
  onBody(body: JsonBody, bytes: Buffer | null): void {
    try {
      const read = readRequest(this.#dialect, body, this.#admitted, this.#context)
      const sessionId = sessionOf(this.#admitted.request.headers, read.sessionHints)
      const plan = bytes && this.#planFor(body, read, sessionId)
      const edited = plan && this.#edit(plan, body, read, bytes!)
      this.#tracker = edited && plan!.begin()
      if (this.#tracker && this.#reserve(plan!, body, read, sessionId))
        this.#openRecord(plan!, edited!, body, read, sessionId, bytes!.length)
      else {
        this.#tracker?.over()
        this.#makeGeneral().begin(body, read)
      }
    } catch (error) {
      this.refuse(error)
    }
  }

  /** Step 4: records the call before sending its first byte. Refuses the call if the write fails. */
  #openRecord(
    plan: CallPlan,
    edited: Edited,
    body: JsonBody,
    { request, purpose, traits, keepsAnswer = true }: ReadRequest,
    sessionId: string | null,
    size: number,
  ): void {
    const { config, store } = this.#context
    const { headers } = this.#admitted.request
    const call = describedCall(
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
    const trace = new CallTrace(call, headers, body, config.artifacts.bodies, this.#start, size)
    this.#plan = plan
    this.#recorded = { request, route: plan.route, call, tracker: this.#tracker!, trace, keepsAnswer }
    store.open({ kind: 'open', call, route: plan.route }, (cause) => {
      if (cause === null) this.#send(edited)
      else this.refuse(unrecorded(cause))
    })
  }

  /** Step 5: sends the request to the provider. A stream leaves for the general way here. */
  #send({ path, headers, body }: Edited): void {
    this.#state = 'on record'
    try {
      const { target, provider } = this.#plan
      const { request, tracker, trace } = this.#recorded
      const { origin, dispatcher } = provider
      this.#attempt = trace.exchange(target, path, headers, body)
      this.#sentAt = this.#elapsed()
      tracker.attempt(target, this.#sentAt)
      if (this.#isGone) {
        this.#handOver().abort()
        return
      }
      const late = () => this.#handOver().timeOut()
      if (!request.stream) this.#timer = after(this.#context.config.resilience.answer, late, this.#failed)
      const forever = { headersTimeout: 0, bodyTimeout: 0 }
      dispatcher.dispatch(
        { origin, path, method: 'POST', headers: headers as string[], body, ...forever },
        request.stream ? this.#handOver() : this,
      )
    } catch (thrown) {
      this.#failed(thrown)
    }
  }

  // The provider's answer, as undici reads it. Whatever is not plain leaves for the general way, with what was read so far;
  // from then on the exchange gets all events.

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    this.#exchange?.onRequestStart(controller)
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    const type = headers['content-type']
    if (this.#exchange) this.#exchange.onResponseStart(controller, status, headers)
    else if (status < 200) return
    else if (status > 200 || headers['content-encoding'] || (type !== undefined && !/\bjson\b/i.test(type)))
      this.#handOver().onResponseStart(controller, status, headers)
    else {
      this.#head = { status, headers }
      this.#attempt.responseStarted(status, headers)
    }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const size = (this.#bytes?.length ?? 0) + chunk.length
    if (this.#exchange) this.#exchange.onResponseData(controller, chunk)
    else if (size > UNCOUNTED_BYTES || ++this.#pieces > MAX_PIECES)
      this.#handOver().onResponseData(controller, chunk)
    else {
      this.#attempt.chunk(chunk)
      this.#bytes = this.#bytes ? Buffer.concat([this.#bytes, chunk]) : chunk
      // The reader of the general way waits while other keys have their turn.
      if (mustWait(this.#recorded.call.keyName, chunk.length)) this.#handOver().readInTurn()
    }
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    try {
      const parsed = this.#exchange ? null : this.#readAnswer()
      if (parsed) this.#answer(parsed, this.#head!)
      else this.#handOver().onResponseEnd(controller, trailers)
    } catch (thrown) {
      this.#failed(thrown)
    }
  }

  onResponseError(controller: Controller | null, error: Error): void {
    try {
      this.#handOver().onResponseError(controller, error)
    } catch (thrown) {
      stray(thrown) // undici would make it an error that ends the process
    }
  }

  /** Reads the answer; null if it is not plain. The general way then reads it again, and reports why. */
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

  /** Step 6: sends the answer to the client. */
  #answer(parsed: ParsedEvent, head: StatusAndHeaders): void {
    const { target, upstream, headers: constant } = this.#plan
    const { mask, config } = this.#context
    const { call, tracker } = this.#recorded
    const { id, sessionId, keyName } = call
    const { requestIdHeader } = this.#dialect
    this.#timer?.close()
    this.#isAnswered = true
    this.#attempt.end('complete')
    const ttftMs = this.#elapsed()
    tracker.answered(ttftMs)
    const headers = relayedHeaders(head.headers, upstream.relayedHeaders, mask)
    headers['x-gateway-request-id'] = id
    for (let at = 0; at < constant.length; at += 2) headers[constant[at]!] = constant[at + 1]
    if (sessionId !== null) headers['x-gateway-session-id'] = encodeHeader(sessionId)
    headers[requestIdHeader] ||= id
    if (isOtherModel(target.model, parsed.model))
      headers['x-gateway-response-model'] = encodeHeader(mask(parsed.model).slice(0, MAX_NAME_LENGTH))
    replyRelayed(this.#response, head.status, this.#bytes!, headers)
    delivered(this.#response, keyName, config.resilience.idle, (whole) => {
      try {
        this.#closeRecord(parsed, head, ttftMs, whole)
      } catch (thrown) {
        this.#failed(thrown)
      }
    })
  }

  /** Step 7: closes the record. `whole`: the client has the whole answer. */
  #closeRecord(
    parsed: ParsedEvent,
    { status, headers }: StatusAndHeaders,
    ttftMs: number,
    whole: boolean,
  ): void {
    if (this.#state === 'closed') return
    const { call, trace, tracker } = this.#recorded
    tracker.over()
    const { store, mask } = this.#context
    const { target, upstream } = this.#plan
    // Some providers tell the tier in a header.
    const tier = parsed.tokens && upstream.tierOf?.(headers)
    const tokens = tier
      ? { ...parsed.tokens!, served: { ...parsed.tokens!.served, service_tier: tier } }
      : parsed.tokens
    const closing = closingOf(
      {
        id: call.id,
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
    detached(store.write(closing), this.#failed)
    this.#admitted.over()
    store.saveArtifact(call.id, trace.weight, trace.ended(closing.outcome, mask))
  }

  // Parts of step 3.

  /** Returns the plan of a call; null if the call is not plain. */
  #planFor(body: JsonBody, { request, traits, noKeeper }: ReadRequest, sessionId: string | null) {
    const { plans, providers, keptKeys } = this.#context
    const { caller, request: incoming, isKept } = this.#admitted
    if (isKept || keptKeys.has(caller.name)) return null
    if (!plans || caller.credential || noKeeper || request.lost || request.isBackground) return null
    const plan = plans(request.model, this.#dialect)
    const isOfWebSocket = originOf(incoming) !== null
    if (!plan || isOfWebSocket || (sessionId !== null && !plan.takesSessions)) return null
    if (plan.doubtful.some(({ upstream, model }) => upstream.translation!(request, model))) return null
    const sized = smallLast(plan.route, { text: request.text, json: body.json, traits }, providers)
    return sized === plan.route && !referencesOf(this.#dialect, body, caller) ? plan : null
  }

  /** Returns the request with the provider's model and what the plan adds; null if more must change. */
  #edit(plan: CallPlan, { text, json }: JsonBody, { request }: ReadRequest, bytes: Buffer): Edited | null {
    const made = plan.prepared(request, json)
    if (!made || plan.renamed?.(text)) return null
    const { added, ...head } = made
    return { ...head, body: withModel(text, bytes, request.model, plan.model, added) }
  }

  /** Reserves the possible cost. Returns false if a target must be left out, or if the gateways of a fleet must be asked. */
  #reserve(
    { route }: CallPlan,
    { json }: JsonBody,
    { request, traits }: ReadRequest,
    sessionId: string | null,
  ) {
    const { requestId: callId, caller } = this.#admitted
    const keyName = caller.name
    const { limits } = this.#context
    if (!limits.hasBudget(keyName)) return true
    const others = othersIn(json, request, this.#dialect.name, this.#context)
    return limits.reserveAtOnce({ callId, keyName, sessionId, route, traits, body: json, others })
  }

  // The ways out.

  /** Returns the call on the general way, which is created the first time. */
  #makeGeneral(): ClientCall {
    this.#general ??= new ClientCall(
      this.#dialect,
      this.#admitted,
      this.#response,
      this.#context,
      this.#start,
    )
    return this.#general
  }

  /** Hands a recorded call over to the general way, unless that has happened. Returns its exchange. */
  #handOver(): UpstreamExchange {
    if (this.#exchange) return this.#exchange
    this.#timer?.close()
    const exchange = this.#makeGeneral().takeOver(
      { ...this.#recorded, isAnswered: this.#isAnswered },
      { trace: this.#attempt, ms: this.#elapsed() - this.#sentAt },
    )
    this.#exchange = exchange
    exchange.startFrom(this.#controller, this.#head, this.#bytes)
    this.#bytes = null
    return exchange
  }

  /** Refuses a call that is not on record. */
  refuse(error: unknown): typeof REPORTED {
    this.#tracker?.over()
    return this.#admitted.refuse(error)
  }

  /** The client has disconnected, or has its answer. */
  #clientClosed(): void {
    if (this.#response.writableFinished) return
    this.#isGone = true
    if (this.#general) this.#general.leave()
    else if (this.#state === 'on record' && !this.#isAnswered) this.#handOver().abort()
  }

  /** Ends the call after a fault of the gateway; after its end, only reports the fault. */
  readonly #failed = (thrown: unknown): typeof REPORTED => {
    if (this.#state === 'closed') {
      if (asGatewayError(thrown).status >= 500) this.#context.onFault(thrown, this.#recorded.call.id)
      return REPORTED
    }
    if (this.#state === 'on record') this.#handOver()
    if (this.#general) return this.#general.fault(thrown)
    this.#isGone = true // nothing is sent if the opening is still being written
    return this.refuse(thrown)
  }

  /** Returns milliseconds since the call arrived. */
  #elapsed(): number {
    return elapsedSince(this.#start)
  }
}
