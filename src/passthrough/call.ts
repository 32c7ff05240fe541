// One call that is relayed without interpretation, from its request to its closed record. Reads the body up to the
// model, records the call, and then relays both bodies. Tries another target only while nothing has been sent. Every
// open record is eventually closed.
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { closingOf } from '../call/answer.ts'
import type { CallContext } from '../call/context.ts'
import { describedCall, withoutCredentialless } from '../call/find-route.ts'
import { GeneralCall } from '../call/general-call.ts'
import { answerOf } from '../call/kept-answers.ts'
import { reach, withoutForeign } from '../call/objects.ts'
import type { AttemptEnd, CallOutcome, Target } from '../core/call.ts'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { traceHeaders, traceparentOf } from '../core/tracing.ts'
import { type Credential, type CredentialAnswer, CredentialError } from '../credentials/credentials.ts'
import { errorCode, isObject, member } from '../dialects/json.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { countPiece, decodedBody } from '../http/body.ts'
import { uploadsIn, withoutUploadToken } from '../http/caller.ts'
import { agentOf, sessionOf } from '../http/client.ts'
import type { Admitted } from '../http/endpoint.ts'
import { delivered, replyError, replyRelayed, routeHeaders, untilRead } from '../http/reply.ts'
import type { Cost } from '../pricing/cost.ts'
import { MAX_ERROR_BYTES } from '../providers/attempt-result.ts'
import { detached, once, REPORTED } from '../shared/boundary.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { clock } from '../shared/clock.ts'
import { ANSWER_WEIGHT } from '../shared/memory.ts'
import { withoutKey } from '../shared/plain-address.ts'
import type { ObjectMaker } from '../store/reads.ts'
import { type AnswerFacts, AnswerReader, billedFor, NO_FACTS, parsed } from './answer-facts.ts'
import { priceOfOne, ResultLines } from './batch-usage.ts'
import { reserve } from './budget.ts'
import { type Broken, PassthroughExchange, type Receiver } from './exchange.ts'
import { type Head, readHead, refuseUnreadable } from './head.ts'
import {
  isHeld,
  MAX_HELD_BYTES,
  nameInPath,
  openBatch,
  ownUploadAddress,
  settleBatch,
  showAnswer,
  uploadName,
} from './held-answer.ts'
import { type Found, isAboutObjects, isProvidersSkill, type Operation } from './operations.ts'
import {
  type Directed,
  direct,
  forwardedHeaders,
  memberOf,
  providerHeaders,
  providerPath,
  RELAYED_HEADERS,
  toKeeper,
  withPage,
} from './target.ts'
import { spliced, Upload } from './upload.ts'

/**
 * Maximum number of additional pages requested from a list if the caller may see nothing on the previous
 * page.
 */
const MAX_PAGES = 20

/** Answers in JSON up to this length are read before they are sent, so that keys in them can be masked. */
const MAX_SHORT_BYTES = 2 ** 16
const JSON_TYPE = /^application\/(json|[\w.-]+\+json)\s*(;|$)/i
/** Bytes that are kept of an answer without being counted, as of nearly all answers. */
const UNCOUNTED_BYTES = 2 ** 14

/** Cost of requests that no provider charges for. */
const FREE: Cost = { usd: 0, missing: [], price: null }

export class PassthroughCall extends GeneralCall<PassthroughExchange> implements Receiver {
  readonly #found: Found
  readonly #operation: Operation
  readonly #upload: Upload
  /** True if the client compressed the body. */
  readonly #isDecoded: boolean

  // The call, known once it is recorded.
  #directed!: Directed
  /** The call that made the requested object; null if no object is requested. */
  #maker: ObjectMaker | null = null
  #head!: Buffer
  #forwarded!: readonly string[]

  // The attempt.
  #index = 0
  #credential: Credential | null = null
  /** The credential until it has been told the outcome. */
  #unsettled: Credential | null = null
  /** Names of the credentials that were tried for the current target. */
  #triedCredentials = new Set<string>()
  /** Requests that a provider refused because of their credential, and that were sent again with another one. */
  #repeats = 0
  #reader: AnswerReader | null = null
  #answered: { readonly status: number; readonly headers: IncomingHttpHeaders } | null = null
  #ttftMs: number | null = null
  /** Pieces of an error so far. */
  #error: BytePieces | null = null
  /** Pieces of an answer that is read before it is sent; null for other answers. */
  #held: BytePieces | null = null
  /** Beginning of an answer in JSON that is masked if it is short; null for other answers. */
  #short: BytePieces | null = null
  /** Memory taken for the answer. */
  #taken = 0
  #awaitsReader = false
  /** Id after which the next page of a list begins. */
  #page: string | null = null
  #pages = 0
  /** True if the body is a request, or may be the requests of a batch. */
  #hasRequests = false
  /** Time by which the last page of a list must have arrived, ms of the `performance` clock. */
  #answerBy: number | null = null
  /** True if the answer has the results of a batch that is on record as open. */
  #hasResults = false
  /** Reader for the passing results of a batch. */
  #lines: ResultLines | null = null
  /** The gateway's error for which the exchange was stopped. */
  #refusal: GatewayError | null = null

  constructor(found: Found, admitted: Admitted, response: ServerResponse, context: CallContext) {
    super(admitted, response, context, clock.monotonic())
    this.#found = found
    this.#operation = found.operation
    const { request, slot } = admitted
    const body = decodedBody(request, context.config.server.body_limit, slot)
    this.#isDecoded = body !== request
    this.#upload = new Upload(body, context.config.resilience.idle)
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const close = () => {
      if (!this.response.writableFinished) this.leave()
    }
    once(this.response, 'close', close, this.broken)
    try {
      await this.context.limits.admit(this.admitted.caller.name)
      await this.#prepare()
      this.record()
    } catch (error) {
      this.refuse(error)
    }
  }

  /** Reads the beginning of the body, finds the targets, and reserves the possible cost. */
  async #prepare(): Promise<void> {
    const { request, caller, requestId, slot } = this.admitted
    const { headers } = request
    this.#head = await this.#upload.head()
    slot.hold(this.#head.length, (error) => this.fault(error))
    slot.complete()
    const type = headers['content-type']
    if (!this.#operation.path.startsWith('/upload/')) refuseUnreadable(this.#head, type)
    const head = readHead(this.#head, type)
    this.#maker = await this.#reachObjects(head)
    this.#hasResults =
      this.#maker !== null &&
      /\/(results|content)$/.test(this.#operation.path) &&
      (await openBatch(this.#maker, this.context)) !== null
    this.#directed = this.#maker
      ? toKeeper(this.#maker, this.#operation, this.context)
      : direct(this.#operation, head, this.context)
    const route = withoutCredentialless(this.#directed.route, caller.credential, this.context)
    this.#forwarded = forwardedHeaders(headers, this.#operation.owner)
    this.context.keyGuard.forwarded(this.#forwarded, headers)
    const sessionId = sessionOf(headers, [])
    const whole = head.isJson && this.#upload.isWhole ? this.#head : null
    this.route = await reserve(
      { callId: requestId, keyName: caller.name, sessionId, operation: this.#operation, route, whole },
      this.context,
    )
    const { path: endpoint, method } = this.#operation
    const model = this.#directed.requestedModel
    const described = describedCall(
      this.admitted,
      { model, stream: memberOf(head, 'stream')?.value === 'true' },
      {
        ...{ sessionId, agentId: agentOf(headers), transport: 'http', cache: 'BYPASS' },
        purpose: 'background', // not a turn of a conversation
        traceparent: this.context.tracing && traceparentOf(headers),
      },
      this.context,
    )
    this.call = { ...described, endpoint, method, objectId: objectIn(this.#found) }
  }

  /** Returns the call that made the requested object. Rejects if the request names an object of another key. */
  async #reachObjects(head: Head): Promise<ObjectMaker | null> {
    const { owner, path } = this.#operation
    // A purpose may come after the file, or again.
    const purpose = this.#upload.isWhole ? memberOf(head, 'purpose')?.value : undefined
    this.#hasRequests = path.endsWith('/files')
      ? owner === 'chat' && (purpose ?? 'batch') === 'batch'
      : this.#operation.group !== 'skills'
    for await (const _ of this.#checked([this.#head]));
    const name = this.#requested(head)
    if (name === null) return null
    const isShared = this.#operation.method === 'GET' && isProvidersSkill(this.#operation, name)
    const makers = await reach(
      ...([isShared ? [] : [name], [name], this.admitted.caller, this.context] as const),
    )
    return makers.get(name) ?? null
  }

  /** Returns the name of the requested object; null if none is requested. */
  #requested(head: Head): string | null {
    const { operation, id } = this.#found
    const { caller, query } = this.admitted
    if (id !== null) return nameInPath(id, operation.owner)
    const [upload, another] = operation.path.startsWith('/upload/') ? uploadsIn(query) : []
    if (another !== undefined)
      throw new GatewayError('invalid_request', 'upload_id: may appear only once.', { param: 'upload_id' })
    if (upload !== undefined) return uploadName(upload)
    if (operation.path !== '/v1/batches' || operation.method !== 'POST') return null
    const input = memberOf(head, 'input_file_id')
    if (input) return input.value
    if (caller.role === 'admin') return null
    const message = 'input_file_id: is not in the first 64 KiB of the body.'
    throw new GatewayError('invalid_request', message, { param: 'input_file_id' })
  }

  protected send(): void {
    detached(this.#attempt(), this.broken)
  }

  /** Sends the call to its current target. */
  async #attempt(): Promise<void> {
    try {
      if (this.isGone) {
        this.failed({ outcome: 'not_sent', code: 'client_closed', message: 'the client disconnected' })
        return
      }
      const target = this.#target
      const provider = this.context.providers.get(target.provider)!
      this.#credential = null
      const { credential: caller = null } = this.admitted.caller
      const { keyName, sessionId } = this.call
      const session = sessionId === null ? null : `${keyName} ${sessionId}`
      this.#credential = await provider.credentials.take({ caller, session, tried: this.#triedCredentials })
      this.#unsettled = this.#credential
      if (this.#credential.needsBody) await this.#readWhole()
      const { owner, method } = this.#operation
      const headers = providerHeaders(this.#forwarded, this.#credential.key, owner)
      if (provider.trace && this.context.tracing)
        headers.push(...traceHeaders(this.call, this.#n, this.context.tracing, this.admitted.request.headers))
      const begin = this.#beginFor(target)
      const plain = { path: this.#pathAt(provider.basePath), headers, body: begin }
      const request = (await this.#credential.complete?.(plain, method)) ?? plain
      const { idle, answer } = this.context.config.resilience
      this.#answerBy ??= clock.monotonic() + answer
      // All pages of a list are one answer.
      const left = this.#pages === 0 ? answer : Math.max(this.#answerBy - clock.monotonic(), 0)
      this.exchange = new PassthroughExchange(this, keyName, { idle, answer: left })
      if (this.isGone) return this.exchange.abort()
      provider.dispatcher.dispatch(
        {
          ...{ origin: provider.origin, path: request.path, method, headersTimeout: 0, bodyTimeout: 0 },
          ...this.#body(request.headers, begin, this.exchange),
        },
        this.exchange,
      )
    } catch (error) {
      if (error instanceof CredentialError)
        this.failed({ outcome: 'not_sent', code: 'upstream_refused', message: error.message })
      else if (this.#upload.isGone) this.failed({ ...ABORTED, outcome: 'not_sent' })
      else this.fault(error)
    }
  }

  get #target(): Target {
    return this.route.candidates[this.#index]!
  }

  /** Number of the current attempt, from 1. */
  get #n(): number {
    return this.#index + 1 + this.#repeats
  }

  #pathAt(basePath: string): string {
    const { path, owner } = this.#operation
    const query = withPage(withoutUploadToken(withoutKey(this.admitted.query)), this.#page, owner)
    const { id, version } = this.#found
    const asked = path.replace('{id}', id ?? '').replace('{version}', version ?? '')
    return `${providerPath(asked, owner, basePath)}${query && `?${query}`}`
  }

  /** Reads the rest of the body, up to the limit for bodies, because its signature needs all of it. */
  async #readWhole(): Promise<void> {
    if (this.#hasNoBody || this.#upload.isWhole) return
    const { body_limit } = this.context.config.server
    const pieces = new BytePieces()
    let refused: GatewayError | null = null
    for await (const piece of this.#pieces(this.#head)) {
      this.admitted.slot.hold(piece.length, (error) => {
        refused = error
      })
      pieces.add(piece)
      if (pieces.length > body_limit)
        refused = new GatewayError(
          'body_too_large',
          `${this.#target.provider} needs a signature of the whole body, which may have ${body_limit} bytes; the operator can raise server.body_limit.`,
        )
      if (refused) throw refused
    }
    if (refused) throw refused
    this.admitted.slot.complete()
    this.#head = pieces.joined()
  }

  get #hasNoBody(): boolean {
    return this.#operation.method === 'GET' || this.#operation.method === 'DELETE'
  }

  /** Returns the beginning of the body for a target: the client's bytes with the target's name for the model. */
  #beginFor({ model }: Target): Buffer {
    if (this.#hasNoBody) return Buffer.alloc(0)
    const place = this.#directed.model
    const isJson = place !== null && this.#head[place.start] === 0x22
    const name = this.#operation.owner === 'gemini' ? `models/${model.replace(/^models\//, '')}` : model
    const change = place && { ...place, bytes: Buffer.from(isJson ? JSON.stringify(name) : name) }
    return spliced(this.#head, change)
  }

  /** Returns the headers and the body of a request whose body has this beginning. */
  #body(headers: string[], begin: Buffer, exchange: PassthroughExchange) {
    if (this.#hasNoBody) return { headers, body: null }
    if (this.#upload.isWhole) return { headers, body: begin }
    const { 'content-length': length } = this.admitted.request.headers
    if (length !== undefined && !this.#isDecoded)
      headers.push('content-length', String(Number(length) + begin.length - this.#head.length))
    return { headers, body: exchange.taking(this.#pieces(begin)) as never }
  }

  #checked(pieces: AsyncIterable<Buffer> | Iterable<Buffer>) {
    const { caller } = this.admitted
    return caller.role === 'admin' ? pieces : withoutForeign(pieces, this.#hasRequests, caller, this.context)
  }

  /** Returns the body piece by piece. Refuses a piece that names an object of another key. */
  async *#pieces(begin: Buffer): AsyncGenerator<Buffer> {
    try {
      yield* this.#checked(piecesOf(begin, this.#upload))
    } catch (error) {
      if (!this.#upload.isGone) this.#refusal = asGatewayError(error)
      throw error
    }
  }

  // The answer, as it arrives.

  started(status: number, headers: IncomingHttpHeaders): boolean {
    this.#answered = { status, headers }
    if (status >= 300 && status !== 304) {
      this.#error = new BytePieces()
      return true
    }
    this.#settle(answerOf(status, headers, ''))
    this.#ttftMs = this.elapsed()
    if (isHeld(this.#operation)) {
      this.#held = new BytePieces()
      return true
    }
    this.#reader = new AnswerReader(headers['content-type'])
    if (!isAboutObjects(this.#operation) && JSON_TYPE.test(headers['content-type'] ?? ''))
      this.#short = new BytePieces()
    if (this.#maker && status === 200 && this.#hasResults)
      this.#lines = new ResultLines(priceOfOne(this.#maker, this.context.price, this.context.now()))
    if (!this.#short) this.#begin()
    const started = this.context.store.write({ kind: 'streaming', id: this.call.id, ttftMs: this.#ttftMs })
    detached(started, this.broken)
    return false
  }

  piece(bytes: Buffer): boolean {
    countPiece(bytes.length)
    if (this.#error) {
      const { length } = this.#error
      if (length < MAX_ERROR_BYTES && this.#take(length + bytes.length)) this.#error.add(bytes)
      return true
    }
    if (this.#held) {
      const { length } = this.#held
      if (length + bytes.length > MAX_HELD_BYTES)
        this.#giveUp(new GatewayError('upstream_invalid', 'The answer of the provider is too large.'))
      else if (this.#take(length + bytes.length)) this.#held.add(bytes)
      return true
    }
    this.#reader!.add(bytes)
    this.#lines?.add(bytes)
    if (!this.#take(this.#reader!.held + (this.#lines?.held ?? 0))) return true
    if (!this.#short) return this.#relay(bytes)
    this.#short.add(bytes)
    if (this.#short.length <= MAX_SHORT_BYTES) return true
    const begun = this.#short.joined()
    this.#short = null
    this.#begin()
    return this.#relay(begun)
  }

  /** Begins an answer that is relayed as it arrives. */
  #begin(): void {
    const { status, headers } = this.#answered!
    this.response.writeHead(status, { ...this.#headersFrom(headers), 'cache-control': 'no-store' })
  }

  #relay(bytes: Buffer): boolean {
    if (this.response.write(bytes)) return true
    this.#resumeWhenRead()
    return false
  }

  /** Takes memory for what is kept of the answer. If there is none, ends the exchange and returns false. */
  #take(bytes: number): boolean {
    const more = ANSWER_WEIGHT * bytes - this.#taken
    if (more < UNCOUNTED_BYTES) return true
    try {
      this.admitted.slot.take(more)
    } catch (error) {
      this.#giveUp(asGatewayError(error))
      return false
    }
    this.#taken += more
    return true
  }

  #giveUp(error: GatewayError): void {
    this.#refusal = error
    this.exchange?.abort()
  }

  /** Resumes the answer when the client has read it so far. More pieces may arrive after the pause. */
  #resumeWhenRead(): void {
    if (this.#awaitsReader) return
    this.#awaitsReader = true
    const { idle } = this.context.config.resilience
    const read = untilRead(this.response, this.call.keyName, idle).then(() => {
      this.#awaitsReader = false
      this.exchange?.resume()
    })
    detached(read, this.broken)
  }

  ended(): void {
    detached(this.#finish(), (error) => {
      if (!(error instanceof GatewayError) || error.code !== 'upstream_invalid') return this.fault(error)
      this.#refusal = error
      this.failed({ outcome: 'failed', code: error.code, message: error.message })
      return REPORTED // a fault of the provider
    })
  }

  async #finish(): Promise<void> {
    if (this.#error) {
      const body = this.#error.joined()
      const { status, headers } = this.#answered!
      const answer = answerOf(status, headers, body.toString('utf8'))
      const mayRepeat = this.#hasNoBody || this.#upload.isWhole
      return this.#settle(answer) === 'another' && mayRepeat ? this.#repeat(answer) : this.#answerError(body)
    }
    if (this.#held) return this.#answerHeld(this.#held.joined())
    // A file with only errors does not show the usage of the other requests.
    if (this.#lines && (this.#lines.answered > 0 || this.#operation.owner === 'messages'))
      await settleBatch(this.#maker!, this.#lines.usage(), this.context)
    if (this.#short) this.#reply(this.#short.joined())
    else this.response.end()
    this.#closeDelivered(this.#reader!.facts())
  }

  /** Sends an answer that had to be read first. */
  async #answerHeld(body: Buffer): Promise<void> {
    const { status, headers } = this.#answered!
    const [operation, admitted, maker] = [this.#operation, this.admitted, this.#maker]
    const ttftMs = this.#ttftMs!
    const held = { operation, admitted, maker, ttftMs, headers, body }
    const shown = await showAnswer(held, this.context)
    if (shown.nextPage !== null && this.#pages < MAX_PAGES) {
      this.#pages++
      this.#page = shown.nextPage
      return this.#attempt()
    }
    const own = this.#headersFrom(headers)
    const address = ownUploadAddress(headers['x-goog-upload-url'], admitted, this.context)
    if (address !== null) own['x-goog-upload-url'] = address
    if (status === 204) this.response.writeHead(status, own).end()
    else replyRelayed(this.response, status, this.#masked(shown.body), own)
    if (!shown.staysOpen) return this.#closeDelivered(NO_FACTS)
    this.over(null)
  }

  /** Sends a whole answer. */
  #reply(body: Buffer): void {
    const { status, headers } = this.#answered!
    replyRelayed(this.response, status, this.#masked(body), this.#headersFrom(headers))
  }

  /** Returns the body of an answer without the keys of its provider. */
  #masked(body: Buffer): Buffer {
    const { credentials } = this.context.providers.get(this.#target.provider)!
    return credentials.holdsSecret(body) ? Buffer.from(this.context.mask(body.toString('utf8'))) : body
  }

  /** Closes the record when the client has received the answer or disconnected. */
  #closeDelivered(facts: AnswerFacts): void {
    const { status } = this.#answered!
    const { errorCode, tokens } = facts
    const hasFailed = errorCode !== null
    this.#dropRest()
    delivered(this.response, this.call.keyName, this.context.config.resilience.idle, (isWhole) =>
      this.#close(
        { outcome: hasFailed ? 'failed' : 'answered', status, errorCode, tokens },
        isWhole
          ? { state: hasFailed ? 'failed' : 'completed', status, errorCode }
          : { state: 'aborted', status: 499, errorCode: 'client_closed' },
        facts,
      ),
    )
  }

  /** Tells the credential the outcome, once. */
  #settle(answer: CredentialAnswer | null): ReturnType<NonNullable<Credential['settled']>> {
    const credential = this.#unsettled
    this.#unsettled = null
    return credential?.settled?.(answer) ?? null
  }

  failed(broken: Broken): void {
    this.#settle(null)
    const { outcome, code, message } = this.#refusal
      ? { ...broken, outcome: 'failed' as const, code: this.#refusal.code }
      : this.isGone || this.#upload.isGone
        ? { ...ABORTED, outcome: broken.outcome === 'not_sent' ? broken.outcome : ABORTED.outcome }
        : broken
    const attempt: AttemptEnd = {
      outcome,
      status: this.#answered?.status ?? null,
      errorCode: code,
      tokens: null,
    }
    if (outcome === 'not_sent' && code !== 'client_closed' && this.route.candidates[this.#index + 1]) {
      detached(this.#next(attempt), this.broken)
      return
    }
    const error =
      this.#refusal ?? new GatewayError(code, `${this.#target.provider}: ${this.context.mask(message)}.`)
    const { status } = error
    const hasBegun = this.response.headersSent
    if (code === 'client_closed') this.response.destroy()
    else replyError(this.response, error, this.call.id, this.wording, this.#headersFrom({}))
    this.#close(attempt, {
      state: code === 'client_closed' ? 'aborted' : 'failed',
      status: hasBegun && code !== 'client_closed' ? (this.#answered?.status ?? status) : status,
      errorCode: code,
    })
  }

  /** Continues with the next target. Nothing has been sent to the previous target. */
  #next(attempt: AttemptEnd): Promise<void> {
    return this.#attemptAfter(attempt, (by) => {
      this.#index += by
      this.#triedCredentials = new Set()
    })
  }

  /** Sends the request to the same target with another credential, because the provider refused the first one. */
  #repeat({ status, code }: CredentialAnswer): Promise<void> {
    this.#error = null
    this.#triedCredentials.add(this.#credential!.name!)
    const errorCode = code ?? 'upstream_error'
    const attempt = { outcome: 'failed', status, errorCode, tokens: null, transport: 'http' } as const
    return this.#attemptAfter(attempt, (by) => {
      this.#repeats += by
    })
  }

  async #attemptAfter(attempt: AttemptEnd, count: (by: 1 | -1) => void): Promise<void> {
    const ended = { ...attempt, n: this.#n, target: this.#target, credential: this.#credential?.name ?? null }
    count(1)
    try {
      const [target, fallbacks, requestsSent] = [this.#target, this.#index, this.#repeats]
      await this.recordNext({ ended, target, fallbacks, requestsSent })
    } catch (error) {
      count(-1)
      this.fault(error)
      return
    }
    await this.#attempt()
  }

  /** Relays the provider's error without secrets. Wraps an error that is not JSON. */
  #answerError(body: Buffer): void {
    const { status, headers } = this.#answered!
    const own = this.#headersFrom(headers)
    delete own['content-length']
    const text = this.context.mask(body.toString('utf8'))
    const json = parsed(text)
    const error = isObject(json) ? (isObject(json.error) ? json.error : json) : null
    const code = errorCode(member(error, 'code')) ?? errorCode(member(error, 'type')) ?? 'upstream_error'
    const answer = status < 400 ? 502 : status
    if (error && status >= 400)
      replyRelayed(this.response, status, Buffer.from(text), { ...own, 'content-type': 'application/json' })
    else {
      const quoted = text.slice(0, 2_000).trim() || 'no body'
      const message = `${this.#target.provider} answered with status ${status}: ${quoted}`
      const wrapped = new GatewayError('upstream_error', message, { status: answer })
      delete own['content-type']
      replyError(this.response, wrapped, this.call.id, this.wording, own)
    }
    this.#close(
      { outcome: 'failed', status, errorCode: code, tokens: null },
      { state: 'failed', status: answer, errorCode: code },
    )
  }

  #headersFrom(provider: IncomingHttpHeaders): OutgoingHttpHeaders {
    const { mask } = this.context
    const sent = this.exchange === null ? this.#index : this.#n
    const headers = routeHeaders(
      ...([this.call, this.route, this.#target, sent, provider, RELAYED_HEADERS, mask] as const),
    )
    // A file of a provider may be a page or a script, and must not run in the origin of the gateway's own page.
    headers['content-security-policy'] = 'sandbox'
    headers[this.wording.requestIdHeader] ??= this.call.id
    return headers
  }

  protected get wording() {
    return DIALECTS[this.#operation.owner].client
  }

  /**
   * Reads and drops the rest of the body. Otherwise a client that is still sending would not see the answer.
   */
  #dropRest(): void {
    this.#upload.discard()
  }

  override refuse(error: unknown): typeof REPORTED {
    this.#dropRest()
    return super.refuse(error)
  }

  protected closeFailed({ status, code: errorCode }: GatewayError): void {
    const outcome = this.exchange ? 'unknown' : 'not_sent'
    this.#close({ outcome, status: null, errorCode, tokens: null }, { state: 'failed', status, errorCode })
  }

  #close(
    attempt: AttemptEnd,
    outcome: Pick<CallOutcome, 'state' | 'status' | 'errorCode'>,
    facts: AnswerFacts | null = null,
  ): void {
    this.#dropRest()
    this.#settle(null)
    if (this.state !== 'on record') return
    const [target, { tokens }] = [this.#target, attempt]
    const wasSent = attempt.outcome !== 'not_sent'
    const closing = closingOf(
      {
        ...{ id: this.call.id, target, fallbacks: this.#index },
        requestsSent: this.#repeats + this.#pages + (wasSent ? 1 : 0),
        ended: {
          ...{ ...attempt, n: this.#n, target },
          ...{ credential: this.#credential?.name ?? null, transport: wasSent ? 'http' : null },
        },
        cost:
          this.#operation.spends === 'no'
            ? FREE
            : this.context.price(
                target,
                billedFor(this.#operation, tokens),
                this.context.now(),
                facts?.model,
              ),
        outcome: {
          ...{ ...outcome, tokens, responseModel: facts?.model ?? null },
          ...{ latencyMs: this.elapsed(), ttftMs: this.#ttftMs },
        },
      },
      this.context,
    )
    this.over(closing)
  }
}

/** Returns the recorded name of a requested object, or of its version. */
const objectIn = ({ id, version }: Found): string | null => (version === null ? id : `${id}/${version}`)

const ABORTED = { outcome: 'aborted', code: 'client_closed', message: 'the client disconnected' } as const

async function* piecesOf(begin: Buffer, upload: Upload): AsyncGenerator<Buffer> {
  yield begin
  yield* upload.rest()
}
