// Turns a recording into an answer: status, headers, bytes, chunk boundaries and, optionally, timing. Does
// not know the request, nor why this recording was chosen.
import { createParser } from 'eventsource-parser'
import type { MockAnswer, Part } from '../answer.ts'
import type { Recording } from './format.ts'

/** `recorded` waits between chunks as long as recorded, `none` not at all. */
export type Pace = 'recorded' | 'none'

/**
 * Returns the recorded answer, chunk by chunk. Events whose data satisfies `leaveOut` are omitted, and chunks
 * shrink accordingly.
 */
export function answerFrom(
  { name, response, bytes }: Recording,
  pace: Pace,
  leaveOut: (data: unknown) => boolean = () => false,
): MockAnswer {
  const gaps = isStream(response.headers) ? spans(bytes, leaveOut) : []
  const parts: Part[] = []
  let at = 0
  for (const [length, delay] of response.chunks) {
    if (pace === 'recorded' && delay > 0) parts.push({ wait: delay })
    const kept = without(bytes, at, at + length, gaps)
    if (kept.length > 0) parts.push(kept)
    at += length
  }
  return { from: name, status: response.status, headers: response.headers, parts }
}

const isStream = (headers: Readonly<Record<string, string>>): boolean =>
  headers['content-type']?.startsWith('text/event-stream') ?? false

type Span = readonly [from: number, to: number]

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

function without(bytes: Uint8Array, from: number, to: number, gaps: readonly Span[]): Uint8Array {
  const touching = gaps.filter((gap) => gap[0] < to && gap[1] > from)
  if (touching.length === 0) return bytes.subarray(from, to)
  const kept: Uint8Array[] = []
  let at = from
  for (const gap of touching) {
    kept.push(bytes.subarray(at, Math.max(at, gap[0])))
    at = gap[1]
  }
  kept.push(bytes.subarray(Math.min(at, to), to))
  return Buffer.concat(kept)
}
