// Turns a recording into an answer: status, headers, bytes, chunk boundaries and, optionally, timing. The recording has a
// placeholder for the program's folder, and replay inserts the current folder, of the same length, so that an agent works
// where it is started. A stream may split the name between two events.
import { createParser } from 'eventsource-parser'
import { bytesOf, type MockAnswer, type Part } from '../answer.ts'
import type { Recording } from './format.ts'

/** Pace of the answer: `recorded` waits between chunks as long as recorded, `none` does not wait. */
export type Pace = 'recorded' | 'none'

/**
 * Returns the recorded answer, chunk by chunk, with the recorded folder replaced by `folder`. Omits events
 * with data that satisfies `leaveOut`, and shrinks chunks accordingly.
 */
export function answerFrom(
  { name, response, bytes, redaction }: Recording,
  pace: Pace,
  leaveOut: (data: unknown) => boolean = () => false,
  folder = process.cwd(),
): MockAnswer {
  const gaps = isStream(response.headers) ? spans(bytes, leaveOut) : []
  const edits = [
    ...gaps.map((span) => ({ span, text: '' })),
    ...(redaction?.folder ? showFolder(bytes, redaction.folder, folder) : []),
  ].sort((a, b) => a.span[0] - b.span[0])
  const parts: Part[] = []
  let at = 0
  for (const [length, delay] of response.chunks) {
    if (pace === 'recorded' && delay > 0) parts.push({ wait: delay })
    const kept = edited(bytes, at, at + length, edits)
    if (kept.length > 0) parts.push(kept)
    at += length
  }
  return { from: name, status: response.status, headers: response.headers, parts }
}

const isStream = (headers: Readonly<Record<string, string>>): boolean =>
  headers['content-type']?.startsWith('text/event-stream') ?? false

/** Returns the ranges of the events to omit, including their blank lines. */
function spans(bytes: Uint8Array, leaveOut: (data: unknown) => boolean): Span[] {
  // One character per byte.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const found: Span[] = []
  let from = 0
  for (const { index, 0: blank } of text.matchAll(/\r\n\r\n|\n\n/g)) {
    const to = index + blank.length
    const read = createParser({ onEvent: ({ data }) => leaveOut(parse(data)) && found.push([from, to]) })
    read.feed(text.slice(from, to))
    from = to
  }
  return found
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Minimum length of a folder that is replaced: a shorter name could be part of any text. */
const MIN_FOLDER_BYTES = 9

/** Range of bytes in a body. */
type Span = readonly [from: number, to: number]

/** Returns the placeholder for a folder of this many bytes. */
const placeholderOf = (length: number): string => '/_folder'.padEnd(length, '_')

/** Replaces a folder with the placeholder in a complete text. */
export function withoutFolder(text: string, folder: string): string {
  const length = Buffer.byteLength(folder)
  if (length < MIN_FOLDER_BYTES || !isPlain(folder)) return text
  const [first = '', ...others] = text.split(folder)
  // A longer name with the same beginning stays unchanged.
  return others.reduce(
    (rest, after) => rest + (/^[\w.-]/.test(after) ? folder : placeholderOf(length)) + after,
    first,
  )
}

/** Replaces the placeholder with a folder in a complete text. */
export const withFolder = (text: string, folder: string): string =>
  text.replaceAll(/\/_folder_*(?!\w)/g, () => (isPlain(folder) ? folder : '/'))

/** Returns true if a folder's name is the same in plain text and in JSON. */
const isPlain = (folder: string): boolean => /^\/[^"\\\p{Cc}]+$/u.test(folder)

/** Replaces the folder in an answer. `found` is the number of replacements. */
export function hideFolder(body: Buffer, folder: string): { readonly body: Buffer; readonly found: number } {
  const name = Buffer.from(folder)
  if (name.length < MIN_FOLDER_BYTES || !isPlain(folder)) return { body, found: 0 }
  const places = placesOf(body, name.toString('latin1'))
  const hidden = Buffer.from(body)
  const placeholder = placeholderOf(name.length)
  for (const spans of places) {
    let at = 0
    for (const [from, to] of spans) {
      hidden.write(placeholder.slice(at, at + to - from), from, 'latin1')
      at += to - from
    }
  }
  return { body: hidden, found: places.length }
}

/** Piece of a body, and the text that replaces it. */
interface Edit {
  readonly span: Span
  readonly text: string
}

/** Returns the edits that replace the placeholder of this many bytes with a folder. */
export const showFolder = (body: Uint8Array, length: number, folder: string): Edit[] =>
  isPlain(folder) ? editsFor(body, placeholderOf(length), folder) : []

/** Returns the body with another folder; null if one of the two cannot be replaced. */
export function inFolder(body: Buffer, from: string, to: string): Buffer | null {
  const name = Buffer.from(from)
  if (name.length < MIN_FOLDER_BYTES || !isPlain(from) || !isPlain(to)) return null
  const edits = editsFor(body, name.toString('latin1'), to).sort((a, b) => a.span[0] - b.span[0])
  return Buffer.from(edited(body, 0, body.length, edits))
}

const editsFor = (body: Uint8Array, name: string, folder: string): Edit[] =>
  placesOf(Buffer.from(body), name).flatMap((spans) =>
    spans.map((span, piece) => ({ span, text: piece === 0 ? folder : '' })),
  )

/** Returns a range of the bytes with its edits; an edit belongs to the range in which it begins. */
function edited(bytes: Uint8Array, from: number, to: number, edits: readonly Edit[]): Uint8Array {
  const touching = edits.filter(({ span }) => span[0] < to && span[1] > from)
  if (touching.length === 0) return bytes.subarray(from, to)
  const kept: Uint8Array[] = []
  let at = from
  for (const { span, text } of touching) {
    kept.push(bytes.subarray(at, Math.max(at, span[0])))
    if (span[0] >= from) kept.push(bytesOf(text))
    at = Math.max(at, span[1])
  }
  kept.push(bytes.subarray(Math.min(at, to), to))
  return Buffer.concat(kept)
}

/** A string of JSON, or `"name":`. */
const STRING = /"((?:[^"\\]|\\.)*)"(\s*:)?/g

/** Finds a text in the strings of a body, even if it is spread over several strings of the same name. */
function placesOf(body: Buffer, text: string): Span[][] {
  const pieces = new Map<string, Span[]>()
  const raw = body.toString('latin1') // one character per byte
  let [name, line] = ['', 0]
  for (const content of raw.split('\n')) {
    for (const { index, 1: inner = '', 2: colon } of content.matchAll(STRING)) {
      const from = line + index + 1
      if (colon) name = inner
      else if (!pieces.get(name)?.push([from, from + inner.length]))
        pieces.set(name, [[from, from + inner.length]])
    }
    line += content.length + 1
  }
  return [...pieces.values()].flatMap((those) => placesIn(raw, those, text))
}

/** Finds a text in consecutive pieces. */
function placesIn(raw: string, pieces: readonly Span[], text: string): Span[][] {
  const joined = pieces.map(([from, to]) => raw.slice(from, to)).join('')
  const places: Span[][] = []
  for (let at = joined.indexOf(text); at >= 0; at = joined.indexOf(text, at + 1)) {
    if (/^[\w.-]/.test(joined.slice(at + text.length))) continue // a longer name with the same beginning
    let start = 0
    const spans: Span[] = []
    for (const [from, to] of pieces) {
      const first = Math.max(at, start)
      const last = Math.min(at + text.length, start + to - from)
      if (first < last) spans.push([from + first - start, from + last - start])
      start += to - from
      if (start >= at + text.length) break
    }
    places.push(spans)
  }
  return places
}
