// Objects that a provider keeps between calls. Answers, such as responses: with `store: true` for the credential that made
// them, and on a WebSocket while it is open; they can be continued, read, cancelled and deleted, until they expire, and a
// background answer completes after two reads. Conversations of Anthropic (`thread` of a Messages request): `create` stores
// one under the id of its answer, and `continue` sends only the new part. Independent of the transport.

import { hash } from 'node:crypto'
import { clock } from '../../src/shared/clock.ts'
import { type MockAnswer, type Part, wholeAnswer } from '../answer.ts'
import type { RequestKind } from '../ledger.ts'
import type { Arrived, KeptFormat, KeptJson, MockProvider, RefusedRequest } from '../provider.ts'

interface Kept {
  /** Credential that made the answer. */
  readonly account: string | null
  /** WebSocket that made the answer; null over HTTP. */
  readonly socket: object | null
  readonly isStored: boolean
  readonly input: unknown
  /** Final state of the answer. */
  readonly answer: KeptJson
  readonly expiresAt: number
  readonly isBackground: boolean
  /** Remaining reads until a background answer completes. */
  readsLeft: number
  isCancelled: boolean
  isDeleted: boolean
}

/** Maximum number of answers; the oldest answer is dropped first. */
const MAX_KEPT = 1_000

/** Number of reads that find a background answer unfinished. */
const READS_IN_PROGRESS = 2

export class AnswerStore {
  readonly #kept = new Map<string, Kept>()
  #repeated = 0

  #find(id: string, account: string | null, socket: object | null): Kept | null {
    const found = this.#kept.get(id)
    return found?.account === account &&
      !found.isDeleted &&
      found.expiresAt > clock.now() &&
      (found.isStored || (socket !== null && found.socket === socket))
      ? found
      : null
  }

  /**
   * Returns the refusal of a request that continues a missing answer, or that contradicts itself; null for any other
   * request. Over HTTP, unknown ids that the mock did not make are accepted, because a script may have made them.
   */
  #refusalOf(
    { json, ...request }: Arrived,
    provider: MockProvider,
    format: KeptFormat,
    socket: object | null,
  ): RefusedRequest | null {
    if (request.path !== format.path || !isObject(json)) return null
    const wrong = format.problemIn(json)
    if (wrong !== null) return provider.refusal('invalid_request', wrong)
    const id = json[format.previous]
    if (typeof id !== 'string' || this.#find(id, provider.credential({ ...request, json }), socket))
      return null
    return socket === null && !this.#kept.has(id) ? null : provider.refusal(...format.lost(id))
  }

  /** Stores the answer to a request, and returns it; for a background answer, only its first state. */
  #keep(
    given: MockAnswer,
    request: Arrived,
    provider: MockProvider,
    format: KeptFormat,
    socket: object | null,
  ): MockAnswer {
    const { json } = request
    if (request.path !== format.path || !isObject(json)) return given
    const first = answerIn(given, format)
    if (!first) return given
    // A provider never repeats an id, but a recording is answered again.
    const isRepeated = this.#kept.has(first.id)
    const sent = isRepeated ? withOwnId(given, String(++this.#repeated).padStart(8, '0')) : given
    const answer = isRepeated ? (answerIn(sent, format) ?? first) : first
    const isBackground = json.background === true
    this.#kept.set(answer.id, {
      ...{ account: provider.credential(request), socket, answer, isCancelled: false, isDeleted: false },
      ...{ isStored: json.store !== false, input: json.input, isBackground },
      expiresAt: clock.now() + format.keptMs,
      readsLeft: isBackground ? READS_IN_PROGRESS : 0,
    })
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!)
    return isBackground && json.stream !== true
      ? wholeAnswer(sent.from, 200, format.unfinished(answer, format.firstStatus))
      : sent
  }

  /** Answers a request about an answer that this mock made; returns null for any other request. */
  #answerAbout(request: Arrived, provider: MockProvider, format: KeptFormat): MockAnswer | null {
    const { method, path, query } = request
    const [, id, part = ''] = /^\w+\/([\w-]+)(\/\w+)?$/.exec(path) ?? []
    const asked = `${method} ${part}`
    if (id === undefined || !isAboutKept(provider, request) || !format.asked.includes(asked)) return null
    // A recording may have what this mock did not make.
    if (!this.#kept.has(id)) return null
    const found = this.#find(id, provider.credential(request), null)
    if (!found?.isStored) return refused(provider.refusal('unknown_path', format.missing(id)))
    if (asked === 'DELETE ') {
      found.isDeleted = true
      return wholeAnswer('kept', 200, format.deleted(id))
    }
    if (asked === 'GET /input_items') return wholeAnswer('kept', 200, format.inputOf(found.input))
    if (asked === 'POST /cancel') {
      const problem = found.readsLeft > 0 ? null : format.notCancelled(id)
      if (problem !== null) return refused(provider.refusal('invalid_request', problem))
      if (found.readsLeft > 0) found.isCancelled = true
    } else if (found.readsLeft > 0) found.readsLeft--
    const input = query.get('include_input') === 'true' && { input: format.inputOf(found.input) }
    const answer = { ...found.answer, ...(found.isBackground && { background: true }), ...input }
    const status = found.isCancelled ? 'cancelled' : found.readsLeft > 0 ? 'in_progress' : null
    return wholeAnswer('kept', 200, status === null ? answer : format.unfinished(answer, status))
  }

  /** Returns a request's refusal, its answer if it is about a stored answer, and a function that stores a new one. */
  turn(request: Arrived, provider: MockProvider, kind: RequestKind, socket: object | null) {
    const { keeps } = provider
    const spends = kind === 'inference'
    return {
      refused: keeps && spends ? this.#refusalOf(request, provider, keeps, socket) : null,
      /** Answer to a request about a stored answer; null for any other request. */
      answer: keeps && !spends ? this.#answerAbout(request, provider, keeps) : null,
      keep: (answer: MockAnswer) =>
        keeps && spends ? this.#keep(answer, request, provider, keeps, socket) : answer,
    }
  }

  clear(): void {
    this.#kept.clear()
  }
}

/** Returns true for a request about a stored answer. */
export const isAboutKept = ({ keeps }: MockProvider, { path }: Arrived): boolean =>
  keeps !== undefined && path.startsWith(`${keeps.path}/`)

const refused = ({ status, headers, body }: RefusedRequest): MockAnswer =>
  wholeAnswer('kept', status, body, headers)

const UNFINISHED: readonly unknown[] = ['queued', 'in_progress']

const isObject = (value: unknown): value is KeptJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the answer in a complete answer, whole or streamed; otherwise null. */
function answerIn(
  { status, headers, parts }: MockAnswer,
  format: KeptFormat,
): (KeptJson & { readonly id: string }) | null {
  if (status !== 200) return null
  const text = Buffer.concat(parts.filter((part) => part instanceof Uint8Array)).toString()
  try {
    const isStream = headers['content-type']?.startsWith('text/event-stream')
    const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))
    const found = isStream ? format.answerIn(events) : JSON.parse(text)
    // Only a recording is unfinished here; its reads are recorded, too.
    const isKept = found?.object === format.object && !UNFINISHED.includes(found.status)
    return isKept && typeof found.id === 'string' ? found : null
  } catch {
    return null
  }
}

/** Ids of an answer, in the members `id` and `response_id`. */
const ID = /"id": ?"((?:chatcmpl-|cmpl-|gen-|msg_|resp_|v1_)([\w-]{12,}))"/g

/** Maximum bytes searched, more than any generated text; longer answers hold other data. */
const MAX_SEARCHED_BYTES = 256 * 1024

/** Replaces the ids of an answer; `own` is different for each call. */
export function withOwnId(answer: MockAnswer, own: string): MockAnswer {
  const all = Buffer.concat(answer.parts.filter(isBytes))
  if (all.length > MAX_SEARCHED_BYTES) return answer
  const text = all.toString('latin1') // one character per byte
  const ids = new Map([...text.matchAll(ID)].map(([, id, rest]) => [id!, rest!]))
  if (ids.size === 0) return answer
  let changed = text
  for (const [index, [id, rest]] of [...ids].entries()) {
    const turned = own.slice(index) + own.slice(0, index)
    const tail = turned.padEnd(rest.length, '0').slice(0, rest.length)
    changed = changed.replaceAll(id, id.slice(0, -rest.length) + tail)
  }
  const bytes = Buffer.from(changed, 'latin1')
  let at = 0
  const parts = answer.parts.map((part): Part => {
    if (!isBytes(part)) return part
    at += part.length
    return bytes.subarray(at - part.length, at)
  })
  return { ...answer, parts }
}

const isBytes = (part: Part): part is Uint8Array => part instanceof Uint8Array

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

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const given = (members: KeptJson): KeptJson =>
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

function streamed(text: string): KeptJson | null {
  let message: KeptJson | null = null
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
