// Turns a recording into an answer: status, headers, bytes, chunk boundaries and, optionally, timing.
// Independent of the request and of the choice of the recording.
import { createParser } from 'eventsource-parser'
import type { MockAnswer, Part } from '../answer.ts'
import { edited, type Span, showFolder } from './folder.ts'
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
