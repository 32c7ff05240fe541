// Structure of an answer as a set of facts, and the differences between two structures, or between a recording and newer
// answers of its kind. Pure; ignores all values except those that determine the kind of an answer.

import { createParser } from 'eventsource-parser'
import type { Recording } from './format.ts'

/** Differences of a recording from newer answers. All lists are empty if nothing changed. */
interface Moved {
  /** Facts that no newer answer has. */
  readonly gone: readonly string[]
  /** Facts that every newer answer has, but the recording lacks. */
  readonly came: readonly string[]
}

/** Facts that vary with the words: the order of events, and keepalives. */
const WORDS = /, then |^comment |^event name ping$|^ping /

/**
 * Returns the differences, or null if no newer answer is of the recording's kind. Compares texts only with
 * texts, and streams only with streams.
 */
export function movedIn(recording: Recording, newer: readonly Recording[]): Moved | null {
  const before = answerOf(recording)
  const kind = kindOf(before)
  const fresh = newer.map(answerOf).filter((answer) => kindOf(answer) === kind)
  if (fresh.length === 0) return null
  const old = factsOf(before)
  const shapes = fresh.map(factsOf)
  return {
    gone: [...old].filter((fact) => !shapes.some((shape) => shape.has(fact))).sort(),
    came: [...shapes[0]!].filter((fact) => !old.has(fact) && shapes.every((shape) => shape.has(fact))).sort(),
  }
}

/** Returns the kind of a recording's answer: `stream + tools`. */
export const kindOfRecording = (recording: Recording): string => kindOf(answerOf(recording))

export const hasMoved = ({ gone, came }: Moved): boolean => gone.length + came.length > 0

/** Describes the differences, one on each line. */
export const wordMoved = ({ gone, came }: Moved): string[] => [
  ...gone.map((fact) => `gone  ${fact}`),
  ...came.map((fact) => `new   ${fact}`),
]

const answerOf = ({ response: { status, headers }, bytes }: Recording): RecordedAnswer => ({
  status,
  headers,
  body: Buffer.from(bytes).toString(),
})

const factsOf = (answer: RecordedAnswer): Set<string> =>
  new Set([...shapeOf(answer)].filter((fact) => !WORDS.test(fact)))

/** Answer of a recording or of a foreign capture. */
interface RecordedAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Differences from captures of the same kind: `unknown` facts occur in no capture, `missing` facts in all
 * captures, and `optional` facts in some.
 */
export interface Drift {
  readonly unknown: string[]
  readonly missing: string[]
  readonly optional: string[]
}

/**
 * Returns the facts of an answer: "body usage.total_tokens number", "content choices[].delta.content string"
 * for an event of kind content, "content, then finish" for the order of events, "comment …", "header
 * x-request-id".
 */
export function shapeOf({ status, headers, body }: RecordedAnswer): Set<string> {
  const facts = new Set([`status ${status}`, ...Object.keys(headers).map((name) => `header ${name}`)])
  if (!isStream(body)) {
    addPaths(facts, 'body', '', parseJson(body))
    return facts
  }
  let before = 'start'
  const step = (kind: string) => {
    if (kind !== before) facts.add(`${before}, then ${kind}`)
    before = kind
  }
  const parser = createParser({
    onComment: (comment) => facts.add(`comment ${comment.trim()}`),
    onEvent({ event, data }) {
      if (event) facts.add(`event name ${event}`)
      const json = parseJson(data)
      const kind = typeof json === 'string' ? json : eventKind(json)
      step(kind)
      if (typeof json !== 'string') addPaths(facts, kind, '', json)
    },
  })
  parser.feed(body)
  step('end')
  return facts
}

/** Tool calls in the formats of OpenAI's chat, OpenAI's responses, Anthropic and Gemini. */
const CALLS = [
  /"tool_calls":\s*\[\s*\{/,
  /"type":\s*"function_call"/,
  /"type":\s*"tool_use"/,
  /"functionCall":\s*\{/,
]

/** Thoughts in the formats of several providers' chats, OpenAI's responses, Anthropic and Mistral, and Gemini. */
const THOUGHTS = [
  /"reasoning(_content)?":\s*"[^"]/,
  /"type":\s*"reasoning"/,
  /"type":\s*"thinking"/,
  /"thought":\s*true/,
]

/** Picture within an answer. Other pictures are sent as addresses. */
const PICTURES = [/"b64_json":\s*"/]

/** Paginated list. */
const PAGES = [/"nextPageToken":\s*"[^"]/]

/** Returns the kind of an answer: captures are compared only with recordings of the same kind. */
export function kindOf({ status, body }: RecordedAnswer): string {
  if (status >= 400) return `error ${status}`
  const has = (fields: readonly RegExp[]) => fields.some((field) => field.test(body))
  return [
    isStream(body) ? 'stream' : 'whole',
    has(CALLS) && 'tools',
    has(THOUGHTS) && 'reasoning',
    has(PICTURES) && 'picture',
    has(PAGES) && 'more pages',
  ]
    .filter(Boolean)
    .join(' + ')
}

/** Compares a structure with those of all captures of its kind. */
export function compareShapes(ours: ReadonlySet<string>, captures: readonly ReadonlySet<string>[]): Drift {
  const seen = new Set(captures.flatMap((capture) => [...capture]))
  const always = [...seen].filter((fact) => captures.every((capture) => capture.has(fact)))
  return {
    unknown: [...ours].filter((fact) => !seen.has(fact)).sort(),
    missing: always.filter((fact) => !ours.has(fact)).sort(),
    optional: [...seen].filter((fact) => !ours.has(fact) && !always.includes(fact)).sort(),
  }
}

function isStream(body: string): boolean {
  return /^\s*(:|data:|event:|id:|retry:)/.test(body)
}

/** Parses JSON; returns other text unchanged, such as `[DONE]` or an error page. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.slice(0, 20)
  }
}

/** Returns the kind of an event in its dialect's terms. */
function eventKind(json: unknown): string {
  if (typeof json !== 'object' || json === null) return 'no object'
  if ('type' in json && typeof json.type === 'string') return typedKind(json as Typed)
  return 'candidates' in json ? candidateKind(json as Candidates) : chunkKind(json)
}

interface Typed {
  readonly type: string
  readonly item?: { readonly type?: string }
  readonly delta?: { readonly type?: string }
  readonly content_block?: { readonly type?: string }
}

/**
 * Returns the kind of a named event of Anthropic or OpenAI's responses, with the type of the event's content:
 * "content_block_start text".
 */
function typedKind({ type, item, delta, content_block }: Typed): string {
  return [type, item?.type ?? delta?.type ?? content_block?.type].filter(Boolean).join(' ')
}

interface Candidates {
  readonly candidates?: {
    readonly content?: { readonly parts?: readonly Record<string, unknown>[] }
    readonly finishReason?: unknown
  }[]
}

/** Returns the kind of Gemini's event by its parts: "thought", "text + finish". */
function candidateKind({ candidates }: Candidates): string {
  const [candidate] = candidates ?? []
  const parts = candidate?.content?.parts ?? []
  return (
    [
      parts.some(({ thought }) => thought) && 'thought',
      parts.some(({ text, thought }) => text && !thought) && 'text',
      parts.some(({ functionCall }) => functionCall) && 'call',
      candidate?.finishReason && 'finish',
    ]
      .filter(Boolean)
      .join(' + ') || 'empty'
  )
}

/**
 * Returns the kind of an OpenAI chat chunk by its field names: "role", "content", "role + reasoning", "finish
 * + usage", "empty".
 */
function chunkKind(json: unknown): string {
  const chunk = json as {
    error?: unknown
    usage?: unknown
    choices?: { delta?: Record<string, unknown>; finish_reason?: unknown }[]
  }
  const choice = chunk.choices?.[0]
  const delta = choice?.delta ?? {}
  const thinks = Array.isArray(delta.content) // Mistral's thoughts are parts, and its other words are plain text
  const carries = [
    chunk.error && 'error',
    delta.role && 'role',
    (delta.reasoning || delta.reasoning_content || thinks) && 'reasoning',
    delta.content && !thinks && 'content',
    delta.tool_calls && 'tool call',
    choice?.finish_reason && 'finish',
    chunk.usage && 'usage',
  ]
  return carries.filter(Boolean).join(' + ') || 'empty'
}

/** Objects with field names that come from the caller's tools instead of the provider. */
const CALLERS = /(^|\.)(input|args|parameters|quotaDimensions)$/

function addPaths(facts: Set<string>, prefix: string, path: string, value: unknown): void {
  if (Array.isArray(value)) {
    facts.add(`${prefix} ${path} array`)
    for (const item of value) addPaths(facts, prefix, `${path}[]`, item)
  } else if (value !== null && typeof value === 'object') {
    if (CALLERS.test(path)) facts.add(`${prefix} ${path} object`)
    else
      for (const [key, inner] of Object.entries(value))
        addPaths(facts, prefix, path ? `${path}.${key}` : key, inner)
  } else {
    facts.add(`${prefix} ${path} ${value === null ? 'null' : typeof value}`)
  }
}
