// One HTTP exchange with one provider, as undici drives it: holds everything back until the answer is worth
// giving to a client (the commit), then hands over event by event. Knows no client, no store, no other attempt.
import type { IncomingHttpHeaders } from 'node:http'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import type { AttemptOutcome, EventStream, ProviderError, Reading, StreamEnd, StreamSink } from '../call.ts'
import type { ErrorCode } from '../errors.ts'
import type { Dialect } from './dialect.ts'
import { EventFramer } from './event-framer.ts'

/** Milliseconds. */
export interface Limits {
  /** To the commit: the first event of a stream, or the end of a whole answer. */
  readonly commit: number
  /** Between two chunks after the commit. */
  readonly idle: number
}

/** A failed attempt: what to record, what to answer when nothing better comes. */
export interface Failure {
  readonly kind: 'failure'
  readonly outcome: Exclude<AttemptOutcome, 'open' | 'answered'>
  readonly code: ErrorCode
  readonly message: string
  /** The provider's HTTP status and what it sent with it, where an answer came. */
  readonly status: number | null
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer | null
  readonly error: ProviderError | null
}

/** A complete answer: a 2xx that is not streamed, or any other status. */
export interface Whole {
  readonly kind: 'whole'
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Null where the status is not 2xx. */
  readonly reading: Reading | null
}

/** The commit of a stream: its first event is there and is no error. */
export interface Streaming {
  readonly kind: 'stream'
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** A whole answer larger than this is not one, bytes. */
const MAX_ANSWER = 128 * 2 ** 20

const TIMED_OUT = new Error('timed out')
const ABORTED = new Error('aborted')
const EVENTLESS: EventSourceMessage = { data: '' }

export class Exchange implements Dispatcher.DispatchHandler, EventStream {
  /** Settles once: at the commit, at a complete answer, or at a failure. Never rejects. */
  readonly verdict: Promise<Failure | Whole | Streaming>
  readonly #settle: (verdict: Failure | Whole | Streaming) => void
  readonly #dialect: Dialect
  readonly #limits: Limits
  readonly #wantsStream: boolean
  #controller: Dispatcher.DispatchController | null = null
  #stopped: Error | null = null
  #timer: NodeJS.Timeout
  #status: number | null = null
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #size = 0
  #framer: EventFramer | null = null
  #message: EventSourceMessage | null = null
  readonly #parser = createParser({
    onEvent: (message) => {
      this.#message = message
    },
  })
  #held: [Buffer, Reading][] = []
  #sink: StreamSink | null = null
  #committed = false
  #ended: StreamEnd | null = null

  constructor(dialect: Dialect, limits: Limits, wantsStream: boolean) {
    this.#dialect = dialect
    this.#limits = limits
    this.#wantsStream = wantsStream
    const { promise, resolve } = Promise.withResolvers<Failure | Whole | Streaming>()
    this.verdict = promise
    this.#settle = resolve
    this.#timer = setTimeout(() => this.#stop(TIMED_OUT), limits.commit)
  }

  /** The client has gone: stop the provider too. */
  abort(): void {
    this.#stop(ABORTED)
  }

  /** Hands a committed stream over; what was held back comes first. */
  flow(sink: StreamSink): void {
    this.#sink = sink
    const held = this.#held
    this.#held = []
    let room = true
    for (const [bytes, reading] of held) room = sink.event(bytes, reading)
    if (this.#ended) sink.end(this.#ended)
    else if (!room) this.#pause()
  }

  /** Goes on after `event` returned false. */
  resume(): void {
    if (this.#ended) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#stop(TIMED_OUT), this.#limits.idle)
    this.#controller?.resume()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#stopped) controller.abort(this.#stopped)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    const isStream = /^text\/event-stream\b/i.test(headers['content-type'] ?? '')
    if (this.#wantsStream && isStream && status < 300) this.#framer = new EventFramer()
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#framer) {
      this.#size += chunk.length
      if (this.#size > MAX_ANSWER)
        throw new Error(`the provider sent an answer of more than ${MAX_ANSWER} bytes`)
      this.#chunks.push(chunk)
      return
    }
    let room = true
    for (const bytes of this.#framer.push(chunk)) room = this.#event(bytes)
    if (!room) this.#pause()
    else if (this.#committed) this.#timer.refresh()
  }

  onResponseEnd(): void {
    const rest = this.#framer?.rest()
    if (rest) {
      // An event without its blank line counts when it is whole; half an event is dropped with the stream.
      const reading = this.#read(Buffer.concat([rest, Buffer.from('\n\n')]))
      if (reading && !reading.error) this.#deliver(rest, reading)
    }
    clearTimeout(this.#timer)
    if (this.#committed) this.#finish('ended')
    else if (this.#framer) this.#fail('failed', 'upstream_invalid', 'the stream ended before its first event')
    else this.#settle(this.#judgeWhole(Buffer.concat(this.#chunks)))
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    clearTimeout(this.#timer)
    if (this.#committed) {
      const how = this.#stopped === TIMED_OUT ? 'timed_out' : this.#stopped === ABORTED ? 'aborted' : 'cut'
      this.#finish(how)
      return
    }
    const sent = this.#controller !== null
    if (this.#stopped === ABORTED)
      this.#fail(sent ? 'aborted' : 'not_sent', 'client_closed', 'the client went away')
    else if (this.#stopped === TIMED_OUT)
      this.#fail(
        sent ? 'timed_out' : 'not_sent',
        'upstream_timeout',
        `no answer within ${this.#limits.commit} ms`,
      )
    else if (!sent) this.#fail('not_sent', 'upstream_unreachable', `no connection (${reasonOf(error)})`)
    else if (this.#status === null && isBroken(error))
      // The connection broke under a request that may or may not have arrived.
      this.#fail('unknown', 'upstream_unreachable', `the connection broke (${reasonOf(error)})`)
    else if (this.#status === null)
      this.#fail('failed', 'upstream_invalid', `not an HTTP answer (${reasonOf(error)})`)
    else
      this.#fail(
        'failed',
        isBroken(error) ? 'upstream_unreachable' : 'upstream_invalid',
        `the answer broke off (${reasonOf(error)})`,
      )
  }

  #stop(reason: Error): void {
    if (this.#stopped || this.#ended) return
    this.#stopped = reason
    clearTimeout(this.#timer)
    if (this.#controller) this.#controller.abort(reason)
    // Without a controller there is no connection yet, and nothing will tell undici's queue: answer for it.
    else this.onResponseError(null, reason)
  }

  #pause(): void {
    clearTimeout(this.#timer)
    this.#controller?.pause()
  }

  /** Reads an event and passes it on; returns false when the client should not get more just now. */
  #event(bytes: Buffer): boolean {
    const reading = this.#read(bytes)
    // Comments and blank lines: after the commit they go through, before it they wait for it.
    return this.#deliver(bytes, reading)
  }

  #deliver(bytes: Buffer, reading: Reading | null): boolean {
    if (!this.#committed && reading) {
      if (reading.error) {
        const body = Buffer.from(this.#message?.data ?? '')
        this.#failWith('failed', 'upstream_error', reading.error.message, body, reading.error)
        this.#controller?.abort(ABORTED)
        return true
      }
      this.#committed = true
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#stop(TIMED_OUT), this.#limits.idle)
      this.#settle({ kind: 'stream', status: this.#status!, headers: this.#headers })
    }
    if (this.#sink) return this.#sink.event(bytes, reading ?? COMMENT)
    this.#held.push([bytes, reading ?? COMMENT])
    return true
  }

  #read(bytes: Buffer): Reading | null {
    this.#message = null
    this.#parser.feed(bytes.toString('utf8'))
    if (bytes.at(-1) === 0x0d) this.#parser.reset({ consume: true }) // the parser waits for a LF that may not come
    const message: EventSourceMessage = this.#message ?? EVENTLESS
    return message === EVENTLESS ? null : this.#dialect.readEvent(message)
  }

  #judgeWhole(body: Buffer): Whole | Failure {
    const status = this.#status!
    const headers = this.#headers
    if (status >= 400) return { kind: 'whole', status, headers, body, reading: null }
    let reading: Reading
    try {
      reading = this.#dialect.readAnswer(body.toString('utf8'))
    } catch {
      const message = `a ${status} that is not a JSON answer (${headers['content-type'] ?? 'no content type'}, ${body.length} bytes)`
      return this.#failure('failed', 'upstream_invalid', message, null, null)
    }
    if (reading.error)
      return this.#failure('failed', 'upstream_error', reading.error.message, body, reading.error)
    return { kind: 'whole', status, headers, body, reading }
  }

  #failure(
    outcome: Failure['outcome'],
    code: ErrorCode,
    message: string,
    body: Buffer | null,
    error: ProviderError | null,
  ): Failure {
    return {
      kind: 'failure',
      outcome,
      code,
      message,
      status: this.#status,
      headers: this.#headers,
      body,
      error,
    }
  }

  #fail(outcome: Failure['outcome'], code: ErrorCode, message: string): void {
    this.#failWith(outcome, code, message, null, null)
  }

  #failWith(
    outcome: Failure['outcome'],
    code: ErrorCode,
    message: string,
    body: Buffer | null,
    error: ProviderError | null,
  ): void {
    clearTimeout(this.#timer)
    this.#settle(this.#failure(outcome, code, message, body, error))
  }

  #finish(how: StreamEnd): void {
    if (this.#ended) return
    this.#ended = how
    clearTimeout(this.#timer)
    this.#sink?.end(how)
  }
}

const COMMENT: Reading = {
  done: false,
  finished: false,
  model: null,
  tokens: null,
  usageOnly: false,
  error: null,
}

/** An error's code, which names no address and no secret, else its message. */
const reasonOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? error.message

/** The connection ended, in contrast to bytes that are not HTTP. */
const isBroken = (error: Error): boolean => error.name !== 'HTTPParserError'
