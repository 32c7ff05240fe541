// Bytes of a stream -> its events, each as the bytes that came and as what they say. Knows how Server-Sent Events
// are cut and read, and asks the dialect what their data means.
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { EMPTY_EVENT, type ParsedEvent } from '../call.ts'
import type { Dialect } from './dialect.ts'
import { EventFramer } from './event-framer.ts'

/** One event; comments and blank lines have no reading. */
export interface ReadEvent {
  readonly bytes: Buffer
  readonly data: string
  readonly parsed: ParsedEvent | null
}

const CR = 0x0d

export class EventReader {
  readonly #dialect: Dialect
  readonly #framer = new EventFramer()
  #message: EventSourceMessage | null = null
  readonly #parser = createParser({
    onEvent: (message) => {
      this.#message = message
    },
  })

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  /** The events that a chunk completes. Throws when an event is too large. */
  *push(chunk: Buffer): Generator<ReadEvent> {
    for (const bytes of this.#framer.push(chunk)) yield this.#read(bytes, bytes.toString('utf8'))
  }

  /** An event that the end of the stream left without its blank line: null unless it is whole. */
  rest(): ReadEvent | null {
    const bytes = this.#framer.rest()
    const event = bytes && this.#read(bytes, `${bytes.toString('utf8')}\n\n`)
    return event?.parsed && event.parsed !== UNREADABLE ? event : null
  }

  #read(bytes: Buffer, text: string): ReadEvent {
    this.#message = null
    // After a CR the parser waits for the LF that may still come; the event is whole without it.
    this.#parser.feed(bytes.at(-1) === CR ? `${text}\n` : text)
    const message = this.#message as EventSourceMessage | null
    return { bytes, data: message?.data ?? '', parsed: message && this.#interpret(message) }
  }

  #interpret(message: EventSourceMessage): ParsedEvent {
    try {
      return this.#dialect.readEvent(message)
    } catch {
      return UNREADABLE
    }
  }
}

const UNREADABLE: ParsedEvent = {
  ...EMPTY_EVENT,
  error: {
    message: 'the provider sent an event that cannot be read',
    code: 'upstream_invalid',
    status: null,
  },
}
