// Relays a provider's stream to the client byte for byte, and observes its events. Withholds usage that only
// the gateway requested; reports a truncated stream as an error.
import type { ServerResponse } from 'node:http'
import type {
  EventStream,
  ParsedEvent,
  ProviderError,
  StreamEnd,
  StreamPart,
  StreamSink,
  Tokens,
} from '../core/call.ts'
import { type ErrorCode, GatewayError } from '../core/errors.ts'
import { after, detached, every, first, once } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import { countUnread, delivered } from './reply.ts'

export interface RelayOptions {
  /** True if the client did not request usage. Then events that contain only usage are not passed on. */
  readonly withholdUsage: boolean
  /** Returns the bytes to send for a part. */
  readonly show: (part: StreamPart) => Buffer
  /** Makes the error event for a stream that has already sent `events` events. */
  readonly errorEvent: (error: GatewayError, events: number) => string
  /** Bytes to write during a silence, so that the client keeps waiting; null for none. */
  readonly ping: string | null
  /** Maximum time for which a client may read nothing before it is disconnected, ms. */
  readonly idle: number
  /** Name of the call's key. */
  readonly keyName: string | null
  /** Receives every event of the stream unchanged, including withheld events. */
  readonly onPart: (bytes: Buffer, parsed: ParsedEvent | null) => void
  /**
   * Called with the last event. The client receives the event when the promise resolves, or immediately for
   * null.
   */
  readonly beforeEnd: (parsed: ParsedEvent) => Promise<void> | null
}

/** Content of the stream, and how it ended. */
export interface RelayResult {
  readonly state: 'completed' | 'failed' | 'aborted'
  readonly errorCode: string | null
  /** The error that the provider reported in the stream; null without one. */
  readonly error: ProviderError | null
  readonly model: string | null
  readonly responseId: string | null
  readonly containerId: string | null
  readonly tokens: Tokens | null
}

/**
 * Error messages. Agents retry on words such as "connection reset", "terminated", "premature end" or "timed
 * out".
 */
const BROKEN: Record<Exclude<StreamEnd, 'aborted'>, [ErrorCode, string]> = {
  ended: ['upstream_invalid', "Premature end: the provider's stream ended without finishing the answer."],
  cut: [
    'upstream_unreachable',
    'Connection reset: the connection to the provider was terminated before the answer was finished.',
  ],
  timed_out: [
    'upstream_timeout',
    'The provider timed out: it stopped sending before the answer was finished.',
  ],
}

/**
 * Relays the stream after the response headers were set. Reports when the client has the whole stream or has
 * left, and as soon as a stream has failed.
 */
export function relayStream(
  response: ServerResponse,
  stream: EventStream,
  options: RelayOptions,
  tell: (result: RelayResult) => void,
): void {
  stream.flow(new Pump(response, stream, options, tell))
}

/** Maximum time for which a complete answer waits for its end mark or its end, ms. Some providers leave it open. */
const END_MARK_MS = 1_000

const [LF, CUT_CRLF] = [Buffer.from('\n'), Buffer.from('\r\n\r')]
/** Completes the end mark, whose last LF may be in the next chunk, which is dropped. */
const withLf = (bytes: Buffer): Buffer =>
  bytes.subarray(-3).equals(CUT_CRLF) ? Buffer.concat([bytes, LF]) : bytes

/** Interval of pings, ms: half of the maximum silence of a translated stream (MSG-10). */
const PING_INTERVAL_MS = 15_000

class Pump implements StreamSink {
  readonly #tell: (result: RelayResult) => void
  readonly #pings: Timer | null
  readonly #response: ServerResponse
  readonly #stream: EventStream
  readonly #options: RelayOptions
  #events = 0
  #model: string | null = null
  #responseId: string | null = null
  #containerId: string | null = null
  #tokens: Tokens | null = null
  #error: ProviderError | null = null
  #finished = false
  #complete = false
  #lastWait: Timer | null = null
  #over = false
  #isQuiet = false
  #isWaiting = false
  /** Bytes that have arrived while the end is held back; null if it is not held back. */
  #held: { readonly parts: StreamPart[]; end: StreamEnd | null } | null = null

  constructor(
    response: ServerResponse,
    stream: EventStream,
    options: RelayOptions,
    tell: (result: RelayResult) => void,
  ) {
    this.#tell = tell
    this.#response = response
    this.#stream = stream
    this.#options = options
    this.#pings = options.ping === null ? null : every(PING_INTERVAL_MS, () => this.#ping(), this.#broken)
  }

  /** Writes all events that a chunk completes in one write. */
  parts(parts: readonly StreamPart[]): boolean {
    if (this.#over) return true // nothing may follow the end mark
    if (this.#held) {
      this.#held.parts.push(...parts)
      return false
    }
    const { show, onPart, beforeEnd } = this.#options
    const shown = new Shown()
    for (const [at, part] of parts.entries()) {
      const { parsed } = part
      if (parsed) this.#note(parsed)
      const bytes = parsed?.done ? withLf(show(part)) : show(part)
      onPart(bytes, parsed)
      const ready = parsed && (parsed.complete || parsed.done) ? beforeEnd(parsed) : null
      if (ready) {
        this.#write(shown)
        this.#hold(bytes, parsed, parts.slice(at + 1), ready)
        return false
      }
      if (this.#add(shown, bytes, parsed)) return true
    }
    return this.#write(shown)
  }

  /** Adds a part to the pending write. Ends the answer at the end mark, and then returns true. */
  #add(shown: Shown, bytes: Buffer, parsed: ParsedEvent | null): boolean {
    if (bytes.length > 0 && (!parsed?.usageOnly || !this.#options.withholdUsage)) shown.add(bytes)
    if (!parsed?.done) return false
    this.#response.end(shown.bytes())
    if (this.#error || this.#finished || this.#complete) this.#settle()
    else this.#settle('failed', 'upstream_invalid') // an end mark alone says nothing about the answer
    this.#stream.resume() // any bytes that follow are read and dropped, so that the connection can be reused
    return true
  }

  /** Returns false if the stream must wait for the client. */
  #write(shown: Shown): boolean {
    if (shown.isEmpty) return true
    this.#isQuiet = false
    if (this.#response.write(shown.bytes())) return true
    this.#wait()
    return false
  }

  /** Holds back an event and everything after it. */
  #hold(bytes: Buffer, parsed: ParsedEvent | null, later: readonly StreamPart[], ready: Promise<void>): void {
    const held = { parts: [...later], end: null as StreamEnd | null }
    this.#held = held
    const release = () => {
      this.#held = null
      if (this.#over) return
      this.#lastWait?.refresh()
      const shown = new Shown()
      if (this.#add(shown, bytes, parsed)) return
      const goesOn = this.#write(shown)
      if (this.parts(held.parts) && goesOn) this.#stream.resume()
      if (held.end !== null) this.end(held.end)
    }
    detached(ready.then(release), this.#broken)
  }

  /** Sends a ping if nothing has been sent since the last ping. */
  #ping(): void {
    const { ping } = this.#options
    if (this.#isQuiet && ping !== null && !this.#over && !this.#response.writableNeedDrain)
      this.#response.write(ping)
    this.#isQuiet = true
  }

  /** Ends a complete answer that its provider leaves open. What waits for the client comes first. */
  #leave(): void {
    if (this.#held || this.#isWaiting) return
    this.end('ended')
    this.#stream.abort()
  }

  end(how: StreamEnd): void {
    if (this.#over) return
    if (this.#held && how !== 'aborted') {
      this.#held.end = how
      return
    }
    if (how === 'aborted') this.#settle('aborted', 'client_closed')
    else if (this.#error || this.#complete || (how === 'ended' && this.#finished)) {
      this.#response.end()
      this.#settle()
    } else this.#breakOff(how)
  }

  #breakOff(how: Exclude<StreamEnd, 'aborted'>): void {
    const [code, message] = BROKEN[how]
    // The event informs clients that handle errors. If the provider's own end is missing, so is the end of the body, which
    // informs all other clients.
    const giveUp = () => void this.#response.destroy()
    once(this.#response, 'timeout', giveUp, giveUp)
    this.#response.setTimeout(this.#options.idle)
    const event = this.#options.errorEvent(new GatewayError(code, message), this.#events)
    if (how === 'ended') this.#response.end(event)
    else this.#response.write(event, giveUp)
    countUnread(this.#response, this.#options.keyName)
    this.#settle('failed', code)
  }

  /** Waits until the client has read the written bytes. A compressed chunk may deliver more meanwhile. */
  #wait(): void {
    countUnread(this.#response, this.#options.keyName)
    if (this.#isWaiting) return
    this.#isWaiting = true
    const drain = () => {
      this.#isWaiting = false
      if (this.#over) return
      countUnread(this.#response, this.#options.keyName)
      this.#response.setTimeout(0)
      this.#lastWait?.refresh()
      this.#stream.resume()
    }
    first(this.#response, { drain, timeout: () => this.#response.destroy() }, this.#broken)
    this.#response.setTimeout(this.#options.idle)
  }

  /** Ends the answer after a fault of the gateway. The call is closed when the stream is. */
  #broken = () => {
    this.#response.destroy()
  }

  #note(parsed: ParsedEvent): void {
    const { model, tokens, error, finished, complete = false, responseId, containerId } = parsed
    this.#events += countEvents(parsed)
    this.#model = model ?? this.#model // a call may fall back to another model during the stream
    this.#responseId ??= responseId ?? null
    this.#containerId ??= containerId ?? null
    this.#tokens = tokens ?? this.#tokens
    this.#error ??= error
    this.#finished ||= finished
    this.#complete ||= complete
    if (complete) this.#lastWait ??= after(END_MARK_MS, () => this.#leave(), this.#broken)
  }

  #settle(
    state: RelayResult['state'] = this.#error ? 'failed' : 'completed',
    errorCode = this.#error && (this.#error.code ?? 'upstream_error'),
  ): void {
    this.#over = true
    this.#pings?.close()
    this.#lastWait?.close()
    const [model, tokens] = [this.#model, this.#tokens]
    const [responseId, containerId] = [this.#responseId, this.#containerId]
    const error = this.#error
    const result: RelayResult = { state, errorCode, error, model, responseId, containerId, tokens }
    if (state !== 'completed') this.#tell(result)
    else
      delivered(this.#response, this.#options.keyName, this.#options.idle, (whole) =>
        this.#tell(whole ? result : { ...result, state: 'aborted', errorCode: 'client_closed' }),
      )
  }
}

/** Returns the number of events that the client receives for one event of the provider. */
export function countEvents({ sent }: ParsedEvent): number {
  if (sent === undefined) return 1
  let events = 0
  for (let at = sent.indexOf('\n\n'); at >= 0; at = sent.indexOf('\n\n', at + 2)) events++
  return events
}

/** Bytes for one write. Bytes of one chunk are adjacent in memory and are not copied. */
class Shown {
  readonly #pieces: Buffer[] = []
  /** The last piece: its start and its current length. */
  #last: Buffer | null = null
  #length = 0

  get isEmpty(): boolean {
    return this.#last === null
  }

  add(bytes: Buffer): void {
    const last = this.#last
    if (last && last.buffer === bytes.buffer && last.byteOffset + this.#length === bytes.byteOffset)
      this.#length += bytes.length
    else {
      if (last) this.#pieces.push(this.#piece(last))
      this.#last = bytes
      this.#length = bytes.length
    }
  }

  bytes(): Buffer {
    const last = this.#last ? this.#piece(this.#last) : Buffer.alloc(0)
    return this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last])
  }

  #piece(begin: Buffer): Buffer {
    return begin.length === this.#length ? begin : Buffer.from(begin.buffer, begin.byteOffset, this.#length)
  }
}
