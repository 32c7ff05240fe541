// Bytes of a stream -> its parts, each as the bytes that came and as what they say. Knows how Server-Sent Events are
// cut and read, and asks the dialect what their data means.

import { holdsMoreValues } from '../bounded-json.ts'
import { EMPTY_EVENT, type ParsedEvent, type StreamPart } from '../call.ts'
import { StreamEvent, type StreamReader } from '../dialects/dialect.ts'
import { EventFramer } from './event-framer.ts'

/** JSON values that one event may hold; an answer in small pieces has some hundred at most. */
const MOST_VALUES = 250_000

/** Lines that one event may have. An answer needs one; millions would take the heap when they are read one by one. */
const MOST_LINES = 10_000

export class EventReader {
  readonly #stream: StreamReader
  readonly #framer = new EventFramer()
  #isFirst = true

  constructor(stream: StreamReader) {
    this.#stream = stream
  }

  /** What a chunk completes. Throws when an event is too large. */
  push(chunk: Buffer): StreamPart[] {
    return this.#framer
      .push(chunk)
      .map(({ bytes, hasData }) => (hasData ? this.#read(bytes) : { bytes, parsed: null }))
  }

  /** Bytes of an event that is not complete yet. */
  get unfinished(): number {
    return this.#framer.unfinished
  }

  /** What the end of the stream completes: an event without its blank line, where it is whole, and what a translation still has to say. */
  rest(): StreamPart[] {
    const bytes = this.#framer.rest()
    const part = bytes && this.#read(bytes)
    const parts = part?.parsed && part.parsed !== UNREADABLE ? [part] : []
    const last = this.#stream.end?.()
    return last?.sent ? [...parts, { bytes: last.sent, parsed: last }] : parts
  }

  #read(bytes: Buffer): StreamPart {
    if (hasMoreLines(bytes, MOST_LINES)) return { bytes, parsed: UNREADABLE }
    let text = bytes.toString('utf8')
    if (this.#isFirst && text.startsWith('\ufeff')) text = text.slice(1)
    this.#isFirst = false
    const event = parseEvent(text)
    const parsed = event && this.#parse(event, bytes)
    return { bytes: parsed?.sent ?? bytes, parsed }
  }

  #parse(event: StreamEvent, bytes: Buffer): ParsedEvent {
    try {
      return holdsMoreValues(bytes, MOST_VALUES) ? UNREADABLE : this.#stream.read(event)
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

const LINE_END = /\r\n|\n|\r/

/** What an event says, from its lines; null where none is data. */
export function parseEvent(text: string): StreamEvent | null {
  // Nearly all events are one line of data and the blank one.
  if (text.startsWith('data: ') && text.endsWith('\n\n') && text.indexOf('\n') === text.length - 2)
    if (!text.includes('\r')) return new StreamEvent('', text.slice(6, -2))
  let name = ''
  let data: string | null = null
  for (const line of text.includes('\r') ? text.split(LINE_END) : text.split('\n')) {
    if (line === '') {
      if (data !== null) break
      name = ''
      continue
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    if (field !== 'data' && field !== 'event') continue
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') name = value
    else data = data === null ? value : `${data}\n${value}`
  }
  return data === null ? null : new StreamEvent(name, data)
}

/** The data of an event as text; none where it cannot be read. */
export const dataOf = (bytes: Buffer): string =>
  hasMoreLines(bytes, MOST_LINES) ? '' : (parseEvent(bytes.toString('utf8'))?.data ?? '')

/** CR LF counts twice. */
function hasMoreLines(bytes: Buffer, most: number): boolean {
  if (bytes.length <= most) return false // a line takes a byte at least
  let lines = 0
  for (const end of [LF, CR])
    for (let at = bytes.indexOf(end); at >= 0; at = bytes.indexOf(end, at + 1))
      if (++lines > most) return true
  return false
}

const [LF, CR] = Buffer.from('\n\r') as unknown as [number, number]
