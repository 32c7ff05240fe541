// Translates a provider's stream for a client of another dialect, event by event. The provider's own dialect
// reads each event for the record. Independent of the particular dialects.
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../core/call.ts'
import type { AnswerBlocks, BlockEvent, BlockReader, BlockWriter, Stop } from './blocks.ts'
import type { StreamReader } from './dialect.ts'
import { Sequence } from './sequence.ts'
import type { StreamEvent } from './stream-event.ts'
import { type ToolNames, unwrapInput } from './tool-names.ts'

/** Returns the default reason for the end of an answer, if the provider sends none. */
export const endOf = (hasCalls: boolean): Stop => (hasCalls ? 'calls' : 'end')

/** Memory overhead of a piece of text, bytes. */
const PIECE_OVERHEAD_BYTES = 64

export class TranslatedStream implements StreamReader {
  readonly #native: StreamReader
  readonly #reader: BlockReader
  readonly #writer: BlockWriter
  readonly #names: ToolNames
  readonly #sequence = new Sequence()
  /**
   * Upper bound of the text that the readers and writers retain, in bytes. Some of them repeat the text at the end.
   */
  held = 0
  #model: string
  #tokens: Tokens | null = null
  #stop: AnswerBlocks['stop'] = null
  #stopSequence: string | null = null
  #hasCalls = false
  #isStarted = false
  #isEnded = false
  /** Arguments of calls with wrapped input, by key. The arguments are passed on when complete. */
  readonly #wrapped = new Map<unknown, string>()

  constructor(
    native: StreamReader,
    reader: BlockReader,
    writer: BlockWriter,
    names: ToolNames,
    model: string,
  ) {
    this.#native = native
    this.#reader = reader
    this.#writer = writer
    this.#names = names
    this.#model = model
  }

  read(event: StreamEvent): ParsedEvent {
    const parsed = this.#native.read(event)
    // The relay reports the error in the client's dialect. All later events are ignored.
    if (parsed.error) return { ...parsed, done: true }
    if (parsed.tokens) this.#tokens = parsed.tokens
    if (parsed.model !== null) this.#model = parsed.model
    let text = parsed.opens ? this.#start() : ''
    if (!this.#isEnded) for (const said of this.#reader.read(event)) text += this.#pass(said)
    if (parsed.done || parsed.complete) text += this.#end()
    return this.#sent(parsed, text)
  }

  /** Ends the stream, with or without its end mark. */
  end(): ParsedEvent | null {
    return this.#isStarted && !this.#isEnded && this.#stop !== null
      ? this.#sent({ ...EMPTY_EVENT, done: true }, this.#end())
      : null
  }

  #sent({ responseId: _, containerId: __, ...parsed }: ParsedEvent, text: string): ParsedEvent {
    return {
      ...parsed,
      usageOnly: false,
      model: text === '' ? null : this.#model,
      sent: Buffer.from(text),
    }
  }

  #start(): string {
    if (this.#isStarted) return ''
    this.#isStarted = true
    return this.#writer.write({ type: 'start', model: this.#model })
  }

  #pass(said: BlockEvent): string {
    if (said.type === 'stop') {
      this.#stop = said.stop
      this.#stopSequence = said.sequence
      return ''
    }
    if (said.type === 'delta') this.held += 2 * said.text.length + PIECE_OVERHEAD_BYTES
    return (
      this.#start() +
      this.#mapped(said)
        .flatMap((each) => this.#sequence.push(each))
        .map((each) => this.#writer.write(each))
        .join('')
    )
  }

  /** Returns the events with the client's tool names. */
  #mapped(said: BlockEvent): BlockEvent[] {
    switch (said.type) {
      case 'open':
        if (said.block.type !== 'call') return [said]
        this.#hasCalls = true
        if (this.#names.isWrapped(said.block.name)) this.#wrapped.set(said.key, '')
        return [{ ...said, block: this.#names.up(said.block) }]
      case 'delta': {
        const before = this.#wrapped.get(said.key)
        if (before === undefined) return [said]
        this.#wrapped.set(said.key, before + said.text)
        return []
      }
      case 'close':
        return [...this.#unwrapped(said.key), said]
      default:
        return [said]
    }
  }

  #unwrapped(key: string | number): BlockEvent[] {
    const args = this.#wrapped.get(key)
    this.#wrapped.delete(key)
    return args === undefined ? [] : [{ type: 'delta', key, text: unwrapInput(args) }]
  }

  #end(): string {
    if (this.#isEnded) return ''
    this.#isEnded = true
    const stop = this.#stop ?? endOf(this.#hasCalls)
    const late = [...this.#wrapped.keys()].flatMap((key) => this.#unwrapped(key as string))
    const rest = [...late.flatMap((each) => this.#sequence.push(each)), ...this.#sequence.end()]
    return (
      this.#start() +
      rest.map((each) => this.#writer.write(each)).join('') +
      this.#writer.write({ type: 'end', stop, sequence: this.#stopSequence, tokens: this.#tokens })
    )
  }
}
