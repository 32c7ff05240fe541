// How judges read what was seen: JSON, JSON pointers, events of a stream. What an answer says, its surface knows. Pure.
import { createParser } from 'eventsource-parser'

/** The body as JSON; undefined where it is none. */
export function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** What stands at a JSON pointer (RFC 6901), also in JSON that is kept as a text; undefined where nothing does. */
export function at(json: unknown, pointer: string | undefined): unknown {
  if (pointer === undefined) return undefined
  let value = json
  for (const part of pointer.split('/').slice(1)) {
    if (typeof value === 'string') value = jsonOf(value)
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value
}

/** One event of a stream. */
export interface StreamEvent {
  readonly event: string | null
  readonly data: string
}

/** The events of a stream in their order; comments are no events. */
export function eventsOf(body: string): StreamEvent[] {
  const events: StreamEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event: event ?? null, data }) })
  // A byte order mark is no part of the first line, and a CR at the end ends a line.
  parser.feed(body.replace(/^\ufeff/, ''))
  if (body.endsWith('\r')) parser.feed('\n')
  return events
}

/** Foreign JSON, of which nothing is known. */
// biome-ignore lint/suspicious/noExplicitAny: every member is looked at before it is used
export type Json = Record<string, any>

/** U+241E, the picture of a record separator. */
export const SEPARATOR = '\u241e'

/** JSON without the white space between its parts; its numbers stay as they were written. */
export const withoutSpace = (json: string): string =>
  json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, text: string | undefined) => text ?? '')
