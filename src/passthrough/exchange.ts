// One request to a provider. The body and the answer are relayed in pieces. Passes the arriving answer to a
// receiver and stores nothing. Independent of the client and the record.
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { AttemptOutcome } from '../core/call.ts'
import type { ErrorCode } from '../core/errors.ts'
import { after, guarded } from '../shared/boundary.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { clock, type Timer } from '../shared/clock.ts'
import { inTurn, mustWait } from '../shared/turns.ts'

export interface Receiver {
  /**
   * Called once, unless the exchange fails first. Returns true if the answer is read to its end before it is sent.
   */
  started(status: number, headers: IncomingHttpHeaders): boolean
  /** Returns false for a pause, which `resume` ends. */
  piece(bytes: Buffer): boolean
  /** Called when the answer is complete. */
  ended(): void
  /** Called when the answer, or the rest of it, failed to arrive. */
  failed(failure: Broken): void
  /** Called after a fault of the gateway. */
  broken(error: unknown): void
}

/** Reason for the early end of an exchange. */
export interface Broken {
  readonly outcome: Extract<AttemptOutcome, 'not_sent' | 'unknown' | 'failed' | 'timed_out' | 'aborted'>
  readonly code: ErrorCode
  readonly message: string
}

interface Waits {
  /** Maximum time from the end of the request to the answer, ms; to its end if it is read before it is sent. */
  readonly answer: number
  /** Maximum time between two pieces of the request or the answer, ms. */
  readonly idle: number
}

/** Bytes from which a piece is passed on alone. */
const SMALL_BYTES = 1_024

const ABORTED = new Error('aborted')
const TIMED_OUT = new Error('timed out')

type Controller = Dispatcher.DispatchController

export class PassthroughExchange implements Dispatcher.DispatchHandler {
  readonly #receiver: Receiver
  readonly #keyName: string | null
  readonly #waits: Waits
  #controller: Controller | null = null
  /** Small pieces that arrived together, and are passed on together: each pass costs as much as for a large one. */
  readonly #small = new BytePieces()
  #timer: Timer | undefined
  #stopped: Error | null = null
  #hasStarted = false
  #isPaused = false
  #awaitsTurn = false
  #isOver = false
  /** Time by which an answer that is read before it is sent must be complete, ms of the `performance` clock. */
  #until = Number.POSITIVE_INFINITY

  /** Limits the provider's time from now on. */
  constructor(receiver: Receiver, keyName: string | null, waits: Waits) {
    this.#receiver = receiver
    this.#keyName = keyName
    this.#waits = waits
    this.#wait(waits.answer)
  }

  /** Stops the exchange, because the client has disconnected. */
  abort(): void {
    this.#stop(ABORTED)
  }

  resume(): void {
    this.#isPaused = false
    this.#goOn()
  }

  #goOn(): void {
    if (this.#isPaused || this.#awaitsTurn || this.#isOver) return
    this.#wait(this.#waits.idle)
    this.#controller?.resume()
  }

  /** Passes on the pieces of a body, and limits the provider's time for each piece. */
  async *taking(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      this.#wait(this.#waits.idle)
      yield piece
      // The client's time for the next piece is limited where the piece is read.
      if (!this.#hasStarted) this.#timer?.close()
    }
    if (!this.#hasStarted) this.#wait(this.#waits.answer)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#stopped) controller.abort(this.#stopped)
  }

  onResponseStart(_: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#hasStarted = true
    if (this.#receiver.started(status, headers)) this.#until = clock.monotonic() + this.#waits.answer
    this.#wait(this.#waits.idle)
  }

  onResponseData(controller: Controller, piece: Buffer): void {
    if (piece.length >= SMALL_BYTES) {
      this.#passSmall(controller)
      this.#pass(controller, piece)
      return
    }
    if (this.#small.length === 0) {
      const pass = () => this.#passSmall(controller)
      process.nextTick(guarded(pass, (error) => this.#receiver.broken(error)))
    }
    this.#small.add(piece)
    if (!this.#awaitsTurn && mustWait(this.#keyName, piece.length)) this.#readInTurn(controller)
  }

  /** Reads the next small pieces when it is the turn of the key, because each takes as long as some hundred bytes. */
  #readInTurn(controller: Controller): void {
    this.#awaitsTurn = true
    this.#timer?.close()
    controller.pause()
    const goOn = () => {
      this.#awaitsTurn = false
      this.#goOn()
    }
    inTurn(this.#keyName, goOn, (error) => this.#receiver.broken(error))
  }

  #passSmall(controller: Controller): void {
    if (this.#small.length === 0) return
    const pieces = this.#small.joined()
    this.#small.clear()
    this.#pass(controller, pieces)
  }

  #pass(controller: Controller, piece: Buffer): void {
    if (this.#receiver.piece(piece)) this.#wait(this.#waits.idle)
    else {
      this.#isPaused = true
      this.#timer?.close()
      controller.pause()
    }
  }

  onResponseEnd(controller: Controller): void {
    this.#passSmall(controller)
    this.#end()
    this.#receiver.ended()
  }

  onResponseError(controller: Controller | null, error: Error): void {
    if (this.#isOver) return
    if (controller) this.#passSmall(controller)
    this.#end()
    try {
      this.#receiver.failed(this.#explain((error as NodeJS.ErrnoException).code ?? error.message))
    } catch (thrown) {
      this.#receiver.broken(thrown) // undici would make it an error that ends the process
    }
  }

  #explain(reason: string): Broken {
    const wasSent = this.#controller !== null
    if (this.#stopped === ABORTED)
      return {
        outcome: wasSent ? 'aborted' : 'not_sent',
        code: 'client_closed',
        message: 'the client disconnected',
      }
    if (this.#stopped === TIMED_OUT)
      return {
        outcome: wasSent ? 'timed_out' : 'not_sent',
        code: 'upstream_timeout',
        message: 'the provider timed out',
      }
    if (!wasSent)
      return { outcome: 'not_sent', code: 'upstream_unreachable', message: `no connection (${reason})` }
    return {
      outcome: this.#hasStarted ? 'failed' : 'unknown',
      code: 'upstream_unreachable',
      message: `the connection broke (${reason})`,
    }
  }

  #wait(ms: number): void {
    this.#timer?.close()
    if (this.#isOver || this.#isPaused || this.#awaitsTurn) return
    const left = Math.min(ms, this.#until - clock.monotonic())
    this.#timer = after(
      left,
      () => this.#stop(TIMED_OUT),
      (error) => this.#stop(error),
    )
  }

  #stop(reason: Error): void {
    if (this.#stopped || this.#isOver) return
    this.#stopped = reason
    if (this.#controller) this.#controller.abort(reason)
    else this.onResponseError(null, reason)
  }

  #end(): void {
    this.#isOver = true
    this.#timer?.close()
  }
}
