// One HTTP exchange with one provider, driven by undici. Holds everything back until the answer is fit for a
// client (the response start). Then passes on the parts that each chunk completes. Independent of clients,
// the store and other attempts.
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { AnswerTrace } from '../core/artifact.ts'
import {
  EMPTY_EVENT,
  type EventStream,
  type ParsedEvent,
  type StreamEnd,
  type StreamPart,
  type StreamSink,
  type Transport,
} from '../core/call.ts'
import type { OtherForm, UpstreamDialect } from '../dialects/dialect.ts'
import { after, stray } from '../shared/boundary.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { clock, type Timer } from '../shared/clock.ts'
import { ANSWER_WEIGHT, MEMORY, type MemoryShare } from '../shared/memory.ts'
import { inTurn, LARGE_BYTES, mustWait } from '../shared/turns.ts'
import {
  type AttemptResult,
  type Failure,
  failure,
  formOf,
  judgeWhole,
  labelled,
  MAX_BEGIN_BYTES,
  MAX_ERROR_BYTES,
  reported,
  type StatusAndHeaders,
  type Whole,
} from './attempt-result.ts'
import { dataOf, EventReader } from './event-reader.ts'
import { decompressed } from './undici.ts'

/** Timeouts in milliseconds. */
export interface TimeLimits {
  /** Maximum time until the response start: the first event of a stream, or the end of a whole answer. */
  readonly responseStart: number
  /** Maximum time between two later chunks. */
  readonly idle: number
}

/** Maximum bytes of a whole answer. */
const MAX_ANSWER = 128 * 2 ** 20

/** Bytes below which an answer in transit is not counted, as nearly all are. */
export const UNCOUNTED_BYTES = 2 ** 14

/** Maximum time for the body of an error, ms. Its status is enough for the next target. */
const ERROR_BODY_MS = 5_000

/** Statuses of refusals whose bodies say what was refused, and whether another target may take the call. */
const TOLD_BY_BODY = [400, 404, 413, 422]

/** Maximum bytes of comments stored before the first event; a client does not need more. */
const MAX_HELD_BYTES = 2 ** 16

const TIMED_OUT = new Error('timed out')
const ABORTED = new Error('aborted')

type Controller = Dispatcher.DispatchController

export class UpstreamExchange implements Dispatcher.DispatchHandler, EventStream {
  readonly #keyName: string | null
  /** Transport of the request. */
  transport: Transport = 'http'
  readonly #settled: (result: AttemptResult) => void
  readonly #dialect: UpstreamDialect
  readonly #otherForm: () => OtherForm | undefined
  readonly #limits: TimeLimits
  readonly #wantsStream: boolean
  readonly #trace: AnswerTrace
  readonly #memory: typeof MEMORY
  /** Memory of the retained bytes; null while they are few. */
  #share: MemoryShare | null = null
  /** True if no more bytes will arrive. */
  #isOver = false
  #timer: Timer
  /** End of the time until the response start, in ms of the `performance` clock. */
  readonly #deadline: number
  /** Controller of the request; set when the request is written to a connection. */
  #controller: Controller | null = null
  /** Reason why the gateway itself ended the exchange. */
  #stopped: Error | null = null
  #response: StatusAndHeaders | null = null
  /** The whole answer so far; nearly all answers are one chunk. */
  #chunks: Buffer | BytePieces | null = null
  #size = 0
  #reader: EventReader | null = null
  /** Form of the body by its first bytes, because labels are often wrong; null until it is known. */
  #form: 'events' | 'whole' | null = null
  /** Decompressor; set for a compressed answer. */
  #decoder: Dispatcher.DispatchHandler | null = null
  #held: StreamPart[] = []
  #heldBytes = 0
  #decided = false
  /** True once the first event has arrived. */
  #started = false
  #sink: StreamSink | null = null
  #ended: StreamEnd | null = null

  /**
   * Calls `settled` once: when the response can start, for a complete answer, or for a failure. `ms`: time since the
   * request was sent.
   */
  constructor(
    dialect: UpstreamDialect,
    limits: TimeLimits,
    wantsStream: boolean,
    trace: AnswerTrace,
    keyName: string | null,
    settled: (result: AttemptResult) => void,
    otherForm: () => OtherForm | undefined = () => undefined,
    memory = MEMORY,
    ms = 0,
  ) {
    this.#otherForm = otherForm
    this.#keyName = keyName
    this.#settled = settled
    this.#memory = memory
    this.#trace = trace
    this.#dialect = dialect
    this.#limits = limits
    this.#wantsStream = wantsStream
    const left = Math.max(0, limits.responseStart - ms)
    this.#deadline = clock.monotonic() + left
    this.#timer = this.#arm(left)
  }

  /** Cancels the request to the provider: the client has disconnected, or needs no more. */
  abort(): void {
    this.#stop(ABORTED)
  }

  /**
   * Takes over an exchange that another handler began, with the start of a whole answer and its bytes so far, if there
   * are any.
   */
  startFrom(controller: Controller | null, response: StatusAndHeaders | null, bytes: Buffer | null): void {
    this.#controller = controller
    this.#response = response
    if (response) this.#form = 'whole'
    this.#chunks = bytes
    this.#size = bytes?.length ?? 0
    this.#count(this.#size)
  }

  /** Ends the exchange because its time is over. */
  timeOut(): void {
    this.#stop(TIMED_OUT)
  }

  /** Passes a stream that has begun to `sink`, starting with the events held back. */
  flow(sink: StreamSink): void {
    this.#sink = sink
    const held = this.#held
    this.#held = []
    const room = sink.parts(held)
    if (this.#ended) sink.end(this.#ended)
    else if (!room) this.#pause()
  }

  /** Resumes the stream after `parts` returned false. */
  resume(): void {
    if (this.#ended) return
    this.#timer.close()
    this.#timer = this.#arm(this.#limits.idle)
    this.#controller?.resume()
  }

  /** Counts the retained bytes if they are many. Ends the exchange if there is no memory for them. */
  #count(bytes: number): void {
    if (bytes <= UNCOUNTED_BYTES || this.#isOver) {
      this.release()
      return
    }
    const letGo = () => {
      this.#chunks = null
      this.#stop(new Error('the answers in transit take up more memory than is allowed'))
    }
    this.#share ??= this.#memory.open(this.#keyName, 'demand', letGo)
    const more = ANSWER_WEIGHT * bytes - this.#share.bytes
    if (more < 0) this.#share.give(-more)
    else if (!this.#share.take(more)) this.#share.drop()
  }

  /** Counts bytes that are kept for this exchange elsewhere. */
  counts(bytes: number): void {
    this.#count(bytes + (this.#reader?.held ?? 0))
  }

  overSocket(): void {
    this.transport = 'websocket'
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#stopped) controller.abort(this.#stopped)
  }

  /** Pauses and aborts use this controller from here on. */
  steerBy(controller: Controller): void {
    this.#controller = controller
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    if (headers['content-encoding'] && !this.#decoder) {
      this.#decoder = decompressed(new Decoded(this))
      this.#decoder.onRequestStart?.(controller, null)
      this.#decoder.onResponseStart?.(controller, status, headers)
      return
    }
    this.responseStarted(status, headers)
  }

  /** Handles the response headers after decompression, which applies to all later data too. */
  responseStarted(status: number, headers: IncomingHttpHeaders): void {
    this.#response = { status, headers }
    this.#trace.responseStarted(status, headers)
    this.#form = this.#wantsStream && status < 300 ? null : 'whole'
    if (status < 400) return
    this.#timer.close()
    this.#timer = this.#arm(Math.max(0, Math.min(ERROR_BODY_MS, this.#deadline - clock.monotonic())))
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#decoder) this.#decoder.onResponseData?.(controller, chunk)
    else this.data(chunk)
  }

  data(chunk: Buffer): void {
    this.#trace.chunk(chunk)
    if (this.#form === null) chunk = this.#begun(chunk)
    if (!this.#reader) {
      this.#size += chunk.length
      if (this.#size > MAX_ANSWER) throw new Error(`an answer of more than ${MAX_ANSWER} bytes`)
      if (this.#chunks === null) this.#chunks = chunk
      else this.#more(this.#chunks, chunk)
      this.#count(this.#size)
      if (mustWait(this.#keyName, chunk.length)) this.readInTurn()
      return
    }
    const reader = this.#reader
    this.#deliver(reader.push(chunk))
    if (this.#reader) this.#count(reader.held) // otherwise the exchange has ended meanwhile
  }

  /** Looks for the form of the answer in its first bytes. Returns the bytes to read now. */
  #begun(chunk: Buffer): Buffer {
    const bytes = this.#chunks === null ? chunk : Buffer.concat([this.#body(), chunk])
    const label = this.#response!.headers['content-type']
    this.#form = formOf(bytes.toString('latin1', 0, MAX_BEGIN_BYTES), label)
    this.#size = 0
    if (this.#form === 'events') this.#reader = new EventReader(this.#dialect.openStream())
    return bytes
  }

  /** Reads the next part of a whole answer when it is the turn of its key. */
  readInTurn(): void {
    if (this.#isOver) return
    const goOn = () => {
      if (!this.#isOver && !this.#stopped) this.#controller?.resume()
    }
    this.#controller?.pause()
    inTurn(this.#keyName, goOn, (error) => this.#stop(error as Error))
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    if (this.#decoder) this.#decoder.onResponseEnd?.(controller, trailers)
    else this.complete()
  }

  complete(): void {
    this.#trace.end('complete')
    this.#isOver = true
    if (!this.#reader) {
      this.#completeWhole()
      return
    }
    this.#count(0)
    this.#deliver(this.#reader.rest())
    if (this.#started) this.#finish('ended')
    else
      this.#decide(
        failure('failed', 'upstream_invalid', 'the stream ended before its first event', this.#response),
      )
    this.#reader = null
  }

  /** Reads a whole answer, if it is large in the turn of its key. */
  #completeWhole(): void {
    this.#timer.close()
    if (this.#size < LARGE_BYTES) this.#judge()
    else
      inTurn(
        this.#keyName,
        () => this.#judge(),
        (error) => this.failed(error as Error),
      )
  }

  #judge(): void {
    if (this.#stopped) {
      this.failed(this.#stopped)
      return
    }
    const result = this.#judged()
    if (result.kind === 'failure' || result.status >= 400) this.release()
    if (this.#wantsStream && result.kind === 'whole' && result.parsed?.sent) this.#asStream(result.parsed)
    else this.#decide(result)
  }

  #judged(): Whole | Failure {
    return judgeWhole(this.#response!, this.#body(), this.#dialect, this.#wantsStream, this.#otherForm)
  }

  /** Passes on a whole answer as the stream that the client asked for. */
  #asStream(parsed: ParsedEvent): void {
    const events = parsed.sent!.toString('utf8').split(/(?<=\n\n)/)
    const more = { ...EMPTY_EVENT, model: parsed.model }
    this.#held = events.map((event, at) => {
      const bytes = Buffer.from(event)
      return { bytes, parsed: { ...(at === events.length - 1 ? parsed : more), sent: bytes } }
    })
    this.#started = true
    this.#startStream()
    this.#finish('ended')
  }

  /** Gives back the memory of a whole answer, because it was written or dropped. */
  release(): void {
    this.#share?.release()
    this.#share = null
  }

  /** Returns the whole body. */
  #body(): Buffer {
    // An error is not read beyond this length.
    const size = this.#response!.status < 400 ? this.#size : Math.min(this.#size, MAX_ERROR_BYTES + 1)
    const chunks = this.#chunks
    this.#chunks = null
    return chunks instanceof BytePieces ? chunks.copied(size) : Buffer.concat(chunks ? [chunks] : [], size)
  }

  #more(before: Buffer | BytePieces, chunk: Buffer): void {
    const chunks = before instanceof BytePieces ? before : new BytePieces()
    if (before !== chunks) chunks.add(before as Buffer)
    chunks.add(chunk)
    this.#chunks = chunks
  }

  onResponseError(controller: Controller | null, error: Error): void {
    try {
      if (this.#decoder && controller) this.#decoder.onResponseError?.(controller, error)
      else this.failed(error)
    } catch (thrown) {
      stray(thrown) // undici would make it an error that ends the process
    }
  }

  failed(error: Error): void {
    this.#trace.end((error as NodeJS.ErrnoException).code ?? error.message)
    this.#isOver = true
    this.#count(0)
    if (this.#started)
      this.#finish(this.#stopped === TIMED_OUT ? 'timed_out' : this.#stopped === ABORTED ? 'aborted' : 'cut')
    else this.#decide(this.#isError() ? this.#judged() : this.#explain(error))
    this.#reader = null
  }

  /** Returns true if the status counts, even if the body was cut off, late, or could not be decompressed. */
  #isError(): boolean {
    const status = this.#response?.status ?? 0
    const isGivenUp = this.#stopped !== null && this.#stopped !== TIMED_OUT
    return status >= 400 && !TOLD_BY_BODY.includes(status) && !isGivenUp
  }

  /** Explains why there is no answer, and decides whether the request may have reached the provider. */
  #explain(error: Error): Failure {
    const response = this.#response
    const wasSent = this.#controller !== null
    const reason = (error as NodeJS.ErrnoException).code ?? error.message // contains no address and no secret
    if (this.#stopped === ABORTED) {
      const outcome = wasSent ? 'aborted' : 'not_sent'
      return { ...failure(outcome, 'client_closed', 'the client disconnected', response), isGivenUp: true }
    }
    if (this.#stopped === TIMED_OUT)
      return failure(
        wasSent ? 'timed_out' : 'not_sent',
        'upstream_timeout',
        `no answer within ${this.#limits.responseStart} ms`,
        response,
      )
    if (this.#stopped) {
      const message = `the answer was given up (${reason})`
      return { ...failure('failed', 'upstream_invalid', message, response), isGivenUp: true }
    }
    if (!wasSent) return failure('not_sent', 'upstream_unreachable', `no connection (${reason})`, response)
    if (!isConnectionError(reason))
      return failure('failed', 'upstream_invalid', `not a usable answer (${reason})`, response)
    if (response)
      return failure('failed', 'upstream_unreachable', `the answer was cut off (${reason})`, response)
    return failure('unknown', 'upstream_unreachable', `the connection broke (${reason})`, response)
  }

  #deliver(parts: readonly StreamPart[]): void {
    if (this.#sink) {
      if (parts.length > 0 && !this.#sink.parts(parts)) this.#pause()
      else if (!this.#ended) this.#timer.refresh()
      return
    }
    if (this.#decided) return // the exchange has failed already, so later events do not count
    for (const part of parts) if (!this.#hold(part)) return
    if (!this.#started) return
    this.#startStream()
  }

  #startStream(): void {
    const { status, headers } = this.#response!
    const named = labelled(headers, 'text/event-stream', /^text\/event-stream\b/i)
    this.#decide({ kind: 'stream', status, headers: named })
  }

  /** Holds a part while the stream is not being read yet. Returns false if the stream has failed. */
  #hold(part: StreamPart): boolean {
    const { bytes, parsed } = part
    if (this.#started || (parsed?.opens && !parsed.error)) {
      this.#started = true
      this.#held.push(part)
      return true
    }
    if (parsed?.error) {
      this.#decide(reported(parsed.error, Buffer.from(dataOf(bytes)), this.#response!))
      this.#controller?.abort(ABORTED)
      return false
    }
    // Comments wait for an event, because a fallback must leave no trace. An end mark alone is no answer.
    this.#heldBytes += bytes.length
    if (!parsed?.done && this.#heldBytes <= MAX_HELD_BYTES) this.#held.push(part)
    return true
  }

  #arm(ms: number): Timer {
    return after(
      ms,
      () => this.#stop(TIMED_OUT),
      (error) => this.#stop(error),
    )
  }

  #stop(reason: Error): void {
    if (this.#stopped || this.#ended) return
    this.#stopped = reason
    if (this.#isOver) return // a whole answer waits for its turn; its connection may serve another request
    if (this.#controller) this.#controller.abort(reason)
    // Ends an exchange that waits in undici's queue, where it cannot be aborted. Answers now, and stops the
    // request when it leaves the queue.
    else this.failed(reason)
  }

  #pause(): void {
    this.#timer.close()
    this.#controller?.pause()
  }

  #decide(result: AttemptResult): void {
    if (this.#decided) return
    this.#timer.close()
    this.#decided = true
    if (result.kind === 'stream') this.#timer = this.#arm(this.#limits.idle)
    this.#settled(result)
  }

  #finish(how: StreamEnd): void {
    if (this.#ended) return
    this.#ended = how
    this.#timer.close()
    this.#sink?.end(how)
  }
}

/** Returns true if the connection failed, as opposed to bytes that are not a valid answer. */
const isConnectionError = (code: string): boolean => /^(E[A-Z]+|UND_ERR_SOCKET)$/.test(code)

/** Passes a decompressed answer to an exchange. */
class Decoded implements Dispatcher.DispatchHandler {
  readonly #exchange: UpstreamExchange

  constructor(exchange: UpstreamExchange) {
    this.#exchange = exchange
  }

  onRequestStart(controller: Controller): void {
    this.#exchange.steerBy(controller)
  }

  onResponseStart(_: Controller, status: number, headers: IncomingHttpHeaders): void {
    this.#exchange.responseStarted(status, headers)
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    this.#exchange.data(chunk)
  }

  onResponseEnd(): void {
    this.#exchange.complete()
  }

  onResponseError(_: Controller, error: Error): void {
    this.#exchange.failed(error)
  }
}
