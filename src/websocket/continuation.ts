// Conversations that do not depend on a provider's memory. Stores the items of a response and of its
// predecessors as JSON strings, and writes a continuing request out in full; keeps those that exist only as long as their
// socket. Independent of sockets and the store.

import { isJsonObject, type JsonObject, objectIn } from '../json/object-in.ts'
import { elementsOf, memberText, omitMembers, spliceMembers } from '../json/splice.ts'
import { MEMORY, type MemoryShare } from '../shared/memory.ts'

/** Conversation up to the end of a response. Shares the part before its own items with the conversation that it continues. */
export interface Conversation {
  /** Response before all items, if only its provider knows its items; null for none. */
  readonly base: string | null
  /** Conversation before `items`; null for none. */
  readonly before: Conversation | null
  /** Own items as JSON strings. */
  readonly items: readonly string[]
  /** Characters of all items. */
  readonly characters: number
}

function extended(base: string | null, before: Conversation | null, items: readonly string[]): Conversation {
  const characters = items.reduce((sum, { length }) => sum + length, before?.characters ?? 0)
  return { base, before, items, characters }
}

/** Returns the conversation with the items of an answer. */
export const withOutput = (conversation: Conversation, items: readonly string[]): Conversation =>
  extended(conversation.base, conversation, items)

/** Returns all items of a conversation as the elements of a JSON list. */
function allItems(conversation: Conversation): string {
  const parts: string[] = []
  for (let each: Conversation | null = conversation; each !== null; each = each.before)
    if (each.items.length > 0) parts.push(each.items.join())
  return parts.reverse().join()
}

/** Returns the items of a request's `input`; a string becomes a message of the user. */
export function inputItems(body: string): string[] {
  const input = memberText(body, 'input')
  if (input === undefined || input === 'null') return []
  if (input.startsWith('[')) return elementsOf(input)
  return [`{"type":"message","role":"user","content":${input}}`]
}

/** Returns the conversation up to and including a request that continues `before`, or nothing. */
export function continued(request: string, before: Conversation | undefined): Conversation {
  const previous = JSON.parse(memberText(request, 'previous_response_id') ?? 'null') as string | null
  return extended(before ? before.base : previous, before ?? null, inputItems(request))
}

/**
 * Returns a request with a whole conversation instead of its own input. Its other members stay unchanged,
 * byte for byte.
 */
export function writtenOut(request: string, conversation: Conversation): string {
  const { base } = conversation
  const input = `[${allItems(conversation)}]`
  return base === null
    ? withWholeInput(request, input)
    : spliceMembers(request, { previous_response_id: JSON.stringify(base), input })
}

/** Returns a request with another `input`, as JSON, which continues no response. */
export const withWholeInput = (request: string, input: string): string =>
  spliceMembers(omitMembers(request, [['previous_response_id']]), { input })

/** Maximum number of items in an output. Real outputs have some hundred at most. */
const MAX_ITEMS = 10_000

/** Events that the collector reads. All others are not parsed. */
const READ = /^response\.(output_item\.done|created|completed|incomplete)$/

/**
 * Collects the output of a response from its events, which may be any text. A broken event makes the output
 * incomplete.
 */
export class OutputCollector {
  readonly #kept: (item: string) => string
  /** Items by their index. An index that the provider leaves out is no gap. */
  readonly #items = new Map<number, string>()
  #hasEnded = false
  #isBroken = false
  /** Id of the response; null until it is known. */
  id: string | null = null
  /** True if the last event says that the provider stores the response. */
  isKept = false
  /** Characters that the items keep in memory: an item is part of the text of its event. */
  bytes = 0

  /** `kept`: returns what is kept of an item; by default the item. */
  constructor(kept = (item: string) => item) {
    this.#kept = kept
  }

  add(type: string, json: string): void {
    if (!READ.test(type)) return
    const event = objectIn(json)
    if (event === null) this.#isBroken = true
    else if (type === 'response.output_item.done') this.#addItem(event, json)
    else this.#read(event.response, type !== 'response.created')
  }

  #addItem({ item, output_index: at = this.#items.size }: JsonObject, json: string): void {
    const text = isJsonObject(item) ? memberText(json, 'item') : undefined
    if (text === undefined || !isIndex(at)) {
      this.#isBroken = true
      return
    }
    this.#items.set(at, this.#kept(text))
    this.bytes += json.length
  }

  #read(response: unknown, isEnd: boolean): void {
    this.#hasEnded = isEnd
    if (!isJsonObject(response)) {
      this.#isBroken = true
      return
    }
    const { id, store } = response
    if (typeof id === 'string') this.id = id
    this.isKept = store !== false
  }

  /** True if the response has ended and every event could be read. */
  get isComplete(): boolean {
    return this.#hasEnded && !this.#isBroken
  }

  /** What is kept of the items, in order. */
  get items(): readonly string[] {
    return [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item)
  }
}

const isIndex = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < MAX_ITEMS

/** Maximum responses of a socket that can be continued. */
const MAX_RESPONSES = 16
/** Memory of an item and of a response besides their text, bytes. */
const [ITEM_BYTES, RESPONSE_BYTES] = [64, 512]
/** Memory of each character. */
const TEXT_WEIGHT = 2

/**
 * Responses that exist only as long as a socket (`store: false`, `generate: false`). Their conversations are forgotten if
 * memory is short; their client then sends the whole conversation again.
 */
export class SocketState {
  readonly #responses = new Map<string, Conversation>()
  readonly #keyName: string | null
  #share: MemoryShare | null = null

  constructor(keyName: string | null) {
    this.#keyName = keyName
  }

  find(id: string): Conversation | undefined {
    return this.#responses.get(id)
  }

  /**
   * Adds a response. `characters` and `items`: what its conversation does not share with an earlier one on this
   * socket.
   */
  keep(id: string, conversation: Conversation, characters: number, items: number): void {
    this.#responses.set(id, conversation)
    if (this.#responses.size > MAX_RESPONSES) this.#responses.delete(this.#responses.keys().next().value!)
    this.#share ??= MEMORY.open(this.#keyName, 'cache', () => this.clear())
    const added = RESPONSE_BYTES + TEXT_WEIGHT * characters + ITEM_BYTES * items
    this.#share.set(this.#share.bytes + added)
  }

  /** Removes a response whose continuation failed, as providers do. */
  forget(id: string): void {
    this.#responses.delete(id)
  }

  clear(): void {
    this.#share?.release()
    this.#share = null
    this.#responses.clear()
  }
}
