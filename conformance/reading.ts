// How judges read what was seen: JSON, JSON pointers, events of a stream, and a chat answer put together from them.
// Pure.
import { createParser } from 'eventsource-parser'

/** The body as JSON; undefined where it is none. */
export function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** What stands at a JSON pointer (RFC 6901); undefined where nothing does. */
export function at(json: unknown, pointer: string | undefined): unknown {
  if (pointer === undefined) return undefined
  let value = json
  for (const part of pointer.split('/').slice(1)) {
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

/** What a chat answer says, streamed or not. */
export interface ChatReading {
  /** The text of the choices in the order of their indexes; between two of them stands SEPARATOR. */
  readonly content: string
  readonly reasoning: string
  readonly model: string | null
  /** By choice and index: id, name and joined arguments. */
  readonly tools: readonly {
    readonly choice: number
    readonly index: number
    id: string
    name: string
    arguments: string
  }[]
  /** In their order, one for each time that one was given. */
  readonly finish: readonly { readonly choice: number; readonly reason: string }[]
  /** Every usage object that was seen. */
  readonly usage: readonly unknown[]
  readonly errors: readonly unknown[]
  /** How often the end mark came, and whether anything came after the first. */
  readonly done: number
  readonly afterDone: boolean
  /** Events whose data is neither JSON nor the end mark: the official clients break on them. */
  readonly unreadable: number
}

/** U+241E, the picture of a record separator. */
const SEPARATOR = '\u241e'

/** As the official clients read: `message` of a whole answer, `delta` of a stream; a later id or name replaces an earlier. */
export function readChat(body: string): ChatReading {
  const whole = jsonOf(body)
  if (whole !== undefined)
    return { ...readParts([whole], 'message'), done: 0, afterDone: false, unreadable: 0 }
  const parts: unknown[] = []
  let done = 0
  let afterDone = false
  let unreadable = 0
  for (const { event, data } of eventsOf(body)) {
    afterDone ||= done > 0
    if (data.trim() === '[DONE]') done++
    else {
      const json = jsonOf(data)
      if (json === undefined) unreadable++
      parts.push(event === 'error' && at(json, '/error') === undefined ? { error: json ?? data } : json)
    }
  }
  return { ...readParts(parts, 'delta'), done, afterDone, unreadable }
}

/** Foreign JSON, of which nothing is known. */
// biome-ignore lint/suspicious/noExplicitAny: every member is looked at before it is used
export type Json = Record<string, any>

function readParts(
  parts: readonly unknown[],
  member: 'message' | 'delta',
): Omit<ChatReading, 'done' | 'afterDone' | 'unreadable'> {
  const texts: string[] = []
  let reasoning = ''
  let model: string | null = null
  const tools: ChatReading['tools'][number][] = []
  const finish: ChatReading['finish'][number][] = []
  const usage: unknown[] = []
  const errors: unknown[] = []
  for (const part of parts as (Json | null | undefined)[]) {
    if (typeof part !== 'object' || part === null) continue
    if (part.error != null) errors.push(part.error)
    if (part.usage != null) usage.push(part.usage)
    if (typeof part.model === 'string') model ??= part.model
    for (const choice of Array.isArray(part.choices) ? part.choices : []) {
      const said: Json = choice?.[member] ?? {}
      const number = choice?.index ?? 0
      if (typeof said.content === 'string') texts[number] = (texts[number] ?? '') + said.content
      reasoning += said.reasoning_content || said.reasoning || ''
      if (choice?.finish_reason != null) finish.push({ choice: number, reason: choice.finish_reason })
      for (const [position, call] of (said.tool_calls ?? []).entries()) {
        const index = call.index ?? position
        let tool = tools.find((each) => each.choice === number && each.index === index)
        if (!tool) {
          tool = { choice: number, index, id: '', name: '', arguments: '' }
          tools.push(tool)
        }
        tool.id = call.id || tool.id
        tool.name = call.function?.name || tool.name
        tool.arguments += call.function?.arguments ?? ''
      }
    }
  }
  return { content: Object.values(texts).join(SEPARATOR), reasoning, model, tools, finish, usage, errors }
}

/** JSON without the white space between its parts; its numbers stay as they were written. */
export const withoutSpace = (json: string): string =>
  json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, text: string | undefined) => text ?? '')

/** Whether a body is an error in OpenAI's shape: an `error` object with a message. */
export const isOpenAiError = (body: string): boolean => typeof at(jsonOf(body), '/error/message') === 'string'
