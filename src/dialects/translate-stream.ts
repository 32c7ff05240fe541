// A provider's stream as a client of another dialect gets it, event by event. What an event means for the record is read by the
// provider's own dialect, and passed on. Knows no dialect.
import { EMPTY_EVENT, type ParsedEvent, type Tokens } from '../call.ts'
import type { AnswerBlocks, BlockEvent, BlockReader, BlockWriter, Stop } from './blocks.ts'
import type { StreamEvent, StreamReader } from './dialect.ts'
import { Sequence } from './sequence.ts'
import { inputOf, type ToolNames } from './tool-names.ts'

/** Where a provider does not say why it ended. */
export const endOf = (hasCalls: boolean): Stop => (hasCalls ? 'calls' : 'end')

export class TranslatedStream implements StreamReader {
  readonly #native: StreamReader
  readonly #reader: BlockReader
  readonly #writer: BlockWriter
  readonly #names: ToolNames
  readonly #sequence = new Sequence()
  #model: string
  #tokens: Tokens | null = null
  #stop: AnswerBlocks['stop'] = null
  #stopSequence: string | null = null
  #hasCalls = false
  #isStarted = false
  #isEnded = false
  /** Arguments of calls whose input is to be unwrapped, by key; they are passed on when they are complete. */
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
    // Told in the client's words by whoever relays the stream; nothing that follows can be trusted.
    if (parsed.error) return { ...parsed, done: true }
    if (parsed.tokens) this.#tokens = parsed.tokens
    if (parsed.model !== null) this.#model = parsed.model
    let text = parsed.opens ? this.#start() : ''
    if (!this.#isEnded) for (const said of this.#reader.read(event)) text += this.#pass(said)
    if (parsed.done || parsed.complete) text += this.#end()
    return this.#sent(parsed, text)
  }

  /** The stream is over, with its end mark or without. */
  end(): ParsedEvent | null {
    return this.#isStarted && !this.#isEnded && this.#stop !== null
      ? this.#sent({ ...EMPTY_EVENT, done: true }, this.#end())
      : null
  }

  #sent({ responseId: _, ...parsed }: ParsedEvent, text: string): ParsedEvent {
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
    return (
      this.#start() +
      this.#mapped(said)
        .flatMap((each) => this.#sequence.push(each))
        .map((each) => this.#writer.write(each))
        .join('')
    )
  }

  /** With tools named as the client named them. */
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
    return args === undefined ? [] : [{ type: 'delta', key, text: inputOf(args) }]
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
