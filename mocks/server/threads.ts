// Conversations that Anthropic stores between turns (`thread` of a Messages request): `create` stores a
// conversation under the id of its answer, and `continue` sends only the new part. Each conversation belongs
// to the credential of its request. Knows the format of messages; independent of the transport.
import { hash } from 'node:crypto'
import type { MockAnswer } from '../answer.ts'
import type { Arrived, MockProvider, RefusedRequest } from '../provider.ts'

/** Conversation so far, which the next turn continues. */
interface Held {
  /** Digest of the credential. */
  readonly account: string
  /** Members of the creating request that a `continue` inherits. */
  readonly system: unknown
  readonly tools: unknown
  readonly messages: readonly unknown[]
  isContinued: boolean
}

/** Turn of a thread as the model sees it. */
export interface ThreadTurn {
  /** Request including all earlier turns. */
  readonly request: Arrived
  /** Reason to refuse the turn; null if it can be answered. */
  readonly refused: { readonly problem: string; readonly refused: RefusedRequest } | null
  /** Stores the conversation with this answer if the answer is a complete message. */
  keep(answer: MockAnswer): void
}

/** Maximum number of conversations; the oldest one is dropped first. */
const MAX_HELD = 1_000

export function createThreads() {
  const threads = new Map<string, Held>()

  return {
    /** Returns null for a request without a thread. */
    turn(request: Arrived, provider: MockProvider): ThreadTurn | null {
      const { thread, ...json } = isObject(request.json) ? request.json : {}
      if (!isObject(thread)) return null
      const account = hash('sha256', provider.credential(request) ?? '')
      const previous = thread.type === 'continue' ? String(thread.previous_message_id) : null
      const found = previous === null ? null : threads.get(previous)
      const held = found?.account === account ? found : null
      const { system = held?.system, tools = held?.tools } = json
      const messages = [...(held?.messages ?? []), ...listOf(json.messages)]
      const repeated = ['system', 'tools'].find((name) => name in json)
      const problem =
        previous === null
          ? null
          : !held
            ? NOT_FOUND
            : held.isContinued
              ? ALREADY_CONTINUED
              : repeated === undefined
                ? null
                : MISMATCH
      return {
        request: { ...request, json: { ...json, thread, messages, ...given({ system, tools }) } },
        refused: problem && worded(provider, problem, repeated ?? previous!),
        keep(answer) {
          const message = messageIn(answer)
          if (!message) return
          if (held) held.isContinued = true
          const { id, content } = message
          threads.set(id, {
            account,
            system,
            tools,
            messages: [...messages, { role: 'assistant', content }],
            isContinued: false,
          })
          if (threads.size > MAX_HELD) threads.delete(threads.keys().next().value!)
        },
      }
    },
    clear: () => threads.clear(),
  }
}

/** Reasons not to continue a thread: code, message, and the kind of error with the matching status. */
const NOT_FOUND = ['thread_not_found', 'no usable thread was found', 'unknown_model'] as const
const ALREADY_CONTINUED = [
  'thread_already_continued',
  'has already been continued',
  'invalid_request',
] as const
const MISMATCH = ['thread_fingerprint_mismatch', 'is taken from the thread', 'invalid_request'] as const

function worded(
  provider: MockProvider,
  [error_code, why, kind]: typeof NOT_FOUND | typeof ALREADY_CONTINUED | typeof MISMATCH,
  about: string,
): ThreadTurn['refused'] {
  const problem = `thread: ${about} ${why}`
  const { status, headers, body } = provider.refusal(kind, problem)
  const { error, ...rest } = body as { error: object }
  return {
    problem,
    refused: { status, headers, body: { ...rest, error: { ...error, details: { error_code } } } },
  }
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const given = (members: Json): Json =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** Returns the message in a complete answer, whole or streamed; otherwise null. */
function messageIn({ status, headers, parts }: MockAnswer): { id: string; content: unknown[] } | null {
  if (status !== 200) return null
  const text = Buffer.concat(parts.filter((part) => part instanceof Uint8Array)).toString()
  try {
    const message = headers['content-type']?.startsWith('text/event-stream')
      ? streamed(text)
      : JSON.parse(text)
    return typeof message?.id === 'string' && Array.isArray(message.content) ? message : null
  } catch {
    return null
  }
}

function streamed(text: string): Json | null {
  let message: Json | null = null
  const blocks: StreamedBlock[] = []
  for (const [, data] of text.matchAll(/^data: (.*)$/gm)) {
    const { type, index, message: begun, content_block, delta } = JSON.parse(data!)
    if (type === 'message_start') message = begun
    if (type === 'content_block_start') blocks.push({ ...content_block })
    const block = blocks[index]
    if (type === 'content_block_delta' && block) {
      if (delta.text !== undefined) block.text += delta.text
      if (delta.thinking !== undefined) block.thinking += delta.thinking
      if (delta.signature !== undefined) block.signature = delta.signature
      if (delta.partial_json !== undefined) block.json = (block.json ?? '') + delta.partial_json
    }
    if (type === 'message_stop') return message && { ...message, content: blocks.map(whole) }
  }
  return null
}

interface StreamedBlock {
  text?: string
  thinking?: string
  signature?: string
  /** Input of a tool call so far. */
  json?: string
}

const whole = ({ json, ...block }: StreamedBlock): object =>
  json === undefined ? block : { ...block, input: JSON.parse(json || '{}') }
