// Translates a provider's stream for a client of another dialect, event by event. The provider's dialect reads each event
// once, for the record and for the client. Independent of the particular dialects.
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../core/call.ts'
import type { AnswerParts } from './answer-parts.ts'
import type { BlockEvent, BlockWriter, Opened, SerialEvent } from './blocks.ts'
import type { StreamReader } from './dialect.ts'
import { endedBadly } from './stops.ts'
import type { StreamEvent } from './stream-event.ts'
import { type ToolNames, unwrapInput } from './tools.ts'

/** Memory overhead of a piece of text, bytes. */
const PIECE_OVERHEAD_BYTES = 64

export class TranslatedStream implements StreamReader {
  readonly #reader: StreamReader
  readonly #parts: AnswerParts
  readonly #writer: BlockWriter
  readonly #names: ToolNames
  readonly #isOwn: boolean
  #id: string | null = null
  readonly #sequence = new Sequence()
  /**
   * Upper bound of the text that the readers and writers retain, in bytes. Some of them repeat the text at the end.
   */
  held = 0
  readonly keepAlive: Buffer
  #model: string
  #tokens: Tokens | null = null
  #isStarted = false
  #isEnded = false
  /** Arguments of calls with wrapped input, by key. The arguments are passed on when complete. */
  readonly #wrapped = new Map<unknown, string>()

  /**
   * `reader`: passes the content of each event to `parts`. `isOwn`: the client speaks the provider's dialect, so that it can
   * continue the answer by its id. `comment`: see `ClientDialect`.
   */
  constructor(
    reader: StreamReader,
    parts: AnswerParts,
    writer: BlockWriter,
    names: ToolNames,
    isOwn: boolean,
    comment: string,
  ) {
    this.keepAlive = Buffer.from(comment)
    this.#isOwn = isOwn
    this.#reader = reader
    this.#parts = parts
    this.#writer = writer
    this.#names = names
    this.#model = parts.peer.model
  }

  read(event: StreamEvent): ParsedEvent {
    const parsed = this.#reader.read(event)
    // The relay reports the error in the client's dialect. All later events are ignored.
    if (parsed.error) return { ...parsed, done: true }
    if (parsed.tokens) this.#tokens = parsed.tokens
    if (parsed.model !== null) this.#model = parsed.model
    if (this.#isOwn) this.#id ??= parsed.responseId ?? null
    const isOver = parsed.done || parsed.complete === true
    if (isOver) this.#parts.finish()
    let text = parsed.opens ? this.#start() : ''
    for (const each of this.#parts.take()) text += this.#pass(each)
    if (!isOver || this.#isEnded) return this.#sent(parsed, text)
    if (this.#parts.ended === null) return this.#failed(parsed)
    return this.#sent(parsed, text + this.#end())
  }

  /** Ends the stream, with or without its end mark. */
  end(): ParsedEvent | null {
    if (!this.#isStarted || this.#isEnded) return null
    if (this.#parts.ended === null) return this.#parts.unknownStop === null ? null : this.#failed(EMPTY_EVENT)
    this.#parts.finish()
    const text = this.#parts
      .take()
      .map((each) => this.#pass(each))
      .join('')
    return this.#sent({ ...EMPTY_EVENT, done: true, finished: true }, text + this.#end())
  }

  /** Reports that the answer has ended without a good reason. */
  #failed(parsed: ParsedEvent): ParsedEvent {
    this.#isEnded = true
    return { ...parsed, error: endedBadly(this.#parts.unknownStop), done: true }
  }

  #sent({ responseId, containerId, ...parsed }: ParsedEvent, text: string): ParsedEvent {
    return {
      ...parsed,
      ...(this.#isOwn && { responseId, containerId }),
      usageOnly: false,
      model: text === '' ? null : this.#model,
      sent: Buffer.from(text),
    }
  }

  #start(): string {
    if (this.#isStarted) return ''
    this.#isStarted = true
    return this.#writer.write({ type: 'start', model: this.#model, id: this.#id })
  }

  #pass(event: BlockEvent): string {
    if (event.type === 'delta') this.held += 2 * event.text.length + PIECE_OVERHEAD_BYTES
    let text = this.#start()
    if (event.type === 'delta' && this.#wrapped.size === 0) return text + this.#write(event)
    for (const each of this.#mapped(event)) text += this.#write(each)
    return text
  }

  #write(event: BlockEvent): string {
    let text = ''
    for (const each of this.#sequence.push(event)) text += this.#writer.write(each)
    return text
  }

  /** Returns the events with the client's tool names. */
  #mapped(event: BlockEvent): BlockEvent[] {
    switch (event.type) {
      case 'open':
        if (event.block.type !== 'call') return [event]
        if (this.#names.isWrapped(event.block.name)) this.#wrapped.set(event.key, '')
        return [{ ...event, block: this.#names.up(event.block) }]
      case 'delta': {
        const before = this.#wrapped.get(event.key)
        if (before === undefined) return [event]
        this.#wrapped.set(event.key, before + event.text)
        return []
      }
      case 'close':
        return [...this.#unwrapped(event.key), event]
      default:
        return [event]
    }
  }

  #unwrapped(key: string | number): BlockEvent[] {
    const args = this.#wrapped.get(key)
    this.#wrapped.delete(key)
    return args === undefined ? [] : [{ type: 'delta', key, text: unwrapInput(args) }]
  }

  #end(): string {
    this.#isEnded = true
    const { stop, sequence } = this.#parts.ended!
    const rest = this.#sequence.end().map((each) => this.#writer.write(each))
    const end = this.#writer.write({ type: 'end', stop, sequence, tokens: this.#tokens })
    return this.#start() + rest.join('') + end
  }
}

type Key = string | number

// Interleaved blocks become one open block at a time, with indexes 0, 1, 2 …. Events of the open block are passed on
// immediately. Events of all other blocks wait until it closes.

/** Maximum waiting text, in characters. No real answer reaches this size. */
const MAX_WAITING_LENGTH = 16 * 2 ** 20

class Sequence {
  #index = 0
  #open: { readonly key: Key; readonly block: Opened } | null = null
  /** Waiting blocks in their opening order, each with its events so far. */
  readonly #waiting = new Map<Key, BlockEvent[]>()
  #waitingSize = 0
  #wholes = 0

  /**
   * Returns the events to pass on now. Throws if the waiting text is too long or an event belongs to no open
   * block.
   */
  push(event: BlockEvent): SerialEvent[] {
    const out: SerialEvent[] = []
    if (event.type === 'whole') this.#wait(`whole ${this.#wholes++}`, event)
    else if (this.#open?.key === event.key) this.#pass(event, out)
    else this.#wait(event.key, event)
    this.#next(out)
    return out
  }

  /** Closes the open block and passes on all waiting events. */
  end(): SerialEvent[] {
    const out: SerialEvent[] = []
    for (;;) {
      if (this.#open) this.#pass({ type: 'close', key: this.#open.key }, out)
      if (this.#waiting.size === 0) return out
      this.#next(out)
    }
  }

  #wait(key: Key, event: BlockEvent): void {
    const events = this.#waiting.get(key)
    if (events) events.push(event)
    else if (event.type === 'open' || event.type === 'whole') this.#waiting.set(key, [event])
    else throw new Error('a part of a block that is not open')
    if (event.type === 'delta') this.#waitingSize += event.text.length
    if (this.#waitingSize > MAX_WAITING_LENGTH) throw new Error('too many blocks at once')
  }

  /** Passes on waiting blocks until one of them is open. */
  #next(out: SerialEvent[]): void {
    for (const [key, events] of this.#waiting) {
      if (this.#open) return
      this.#waiting.delete(key)
      for (const event of events) {
        if (event.type === 'delta') this.#waitingSize -= event.text.length
        this.#pass(event, out)
      }
    }
  }

  #pass(event: BlockEvent, out: SerialEvent[]): void {
    const index = this.#index
    if (event.type === 'whole') {
      out.push({ type: 'whole', index, block: event.block })
      this.#index++
    } else if (event.type === 'open') {
      this.#open = event
      out.push({ type: 'open', index, block: event.block })
    } else if (event.type === 'delta') {
      if (event.text !== '') out.push({ type: 'delta', index, block: this.#open!.block, text: event.text })
    } else if (event.type === 'seal') out.push({ type: 'seal', index, opaque: event.opaque })
    else {
      out.push({ type: 'close', index, block: this.#open!.block })
      this.#open = null
      this.#index++
    }
  }
}
