// Converts bytes of a stream into parts, each both as received and parsed. Splits and parses Server-Sent
// Events; the dialect interprets their data.

import { EMPTY_EVENT, type ParsedEvent, type StreamPart } from '../core/call.ts'
import type { StreamReader } from '../dialects/dialect.ts'
import { StreamEvent } from '../dialects/stream-event.ts'
import { holdsMoreValues } from '../shared/bounded.ts'
import { EventFramer } from './event-framer.ts'

/** Maximum JSON values of one event; an event of a streamed answer has some hundred at most. */
const MAX_VALUES = 250_000

/** Maximum lines of one event. An answer needs one line; millions of lines would fill the heap. */
const MAX_LINES = 10_000

export class EventReader {
  readonly #stream: StreamReader
  readonly #framer = new EventFramer()
  #isFirst = true

  constructor(stream: StreamReader) {
    this.#stream = stream
  }

  /** Returns the parts that a chunk completes. Throws if an event is too large. */
  push(chunk: Buffer): StreamPart[] {
    return this.#framer
      .push(chunk)
      .map(({ bytes, hasData }) => (hasData ? this.#read(bytes) : this.#nothing(bytes)))
  }

  /** Bytes retained for an incomplete event and for a translation. */
  get held(): number {
    return this.#framer.unfinished + (this.#stream.held ?? 0)
  }

  /**
   * Returns the last parts of the stream: a whole event without its blank line, and the end of a translation.
   */
  rest(): StreamPart[] {
    const bytes = this.#framer.rest()
    const part = bytes && this.#read(bytes)
    const parts = part?.parsed && part.parsed !== UNREADABLE ? [part] : []
    const last = this.#stream.end?.()
    return last ? [...parts, { bytes: last.sent ?? Buffer.alloc(0), parsed: last }] : parts
  }

  #read(bytes: Buffer): StreamPart {
    if (hasMoreLines(bytes, MAX_LINES)) return { bytes, parsed: UNREADABLE }
    let text = bytes.toString('utf8')
    if (this.#isFirst && text.startsWith('\ufeff')) text = text.slice(1)
    this.#isFirst = false
    const event = parseEvent(text)
    // Servers keep a connection alive with comments, with events without data, or with comments as data.
    if (!event || (event.data.length < MAX_COMMENT_LENGTH && /^\s*(:.*)?$/s.test(event.data)))
      return this.#nothing(bytes)
    const parsed = this.#parse(event, bytes)
    return { bytes: parsed.sent ?? bytes, parsed }
  }

  #nothing(bytes: Buffer): StreamPart {
    return { bytes: this.#stream.keepAlive ?? bytes, parsed: null }
  }

  #parse(event: StreamEvent, bytes: Buffer): ParsedEvent {
    try {
      return holdsMoreValues(bytes, MAX_VALUES) ? UNREADABLE : this.#stream.read(event)
    } catch {
      return UNREADABLE
    }
  }
}

/** Maximum characters of an event that may be only a comment. */
const MAX_COMMENT_LENGTH = 256

const UNREADABLE: ParsedEvent = {
  ...EMPTY_EVENT,
  error: {
    message: 'the provider sent an event that cannot be read',
    code: 'upstream_invalid',
    status: null,
  },
}

const LINE_END = /\r\n|\n|\r/

/** Parses an event from its lines; returns null if no line is data. */
function parseEvent(text: string): StreamEvent | null {
  // Nearly all events have one data line and the blank line.
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

/** Returns the data of an event as text; empty if it cannot be read. */
export const dataOf = (bytes: Buffer): string =>
  hasMoreLines(bytes, MAX_LINES) ? '' : (parseEvent(bytes.toString('utf8'))?.data ?? '')

/** Counts CR LF twice. */
function hasMoreLines(bytes: Buffer, most: number): boolean {
  if (bytes.length <= most) return false // a line has at least one byte
  let lines = 0
  for (const end of [LF, CR])
    for (let at = bytes.indexOf(end); at >= 0; at = bytes.indexOf(end, at + 1))
      if (++lines > most) return true
  return false
}

const [LF, CR] = Buffer.from('\n\r') as unknown as [number, number]
