// Conversations that do not depend on a provider's memory. Stores the items of a response and of its
// predecessors as JSON strings, and writes a continuing request out in full. Independent of sockets and the
// store.
import { elementsOf, memberText, omitMembers, spliceMembers } from '../json/splice.ts'

/** Conversation up to the end of a response. */
export interface Conversation {
  /** Response before `items`, if only its provider knows its items; null for none. */
  readonly base: string | null
  /** Items as JSON strings. */
  readonly items: readonly string[]
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
  return {
    base: before ? before.base : previous,
    items: [...(before?.items ?? []), ...inputItems(request)],
  }
}

/**
 * Returns a request with a whole conversation instead of its own input. Its other members stay unchanged,
 * byte for byte.
 */
export function writtenOut(request: string, { base, items }: Conversation): string {
  const input = `[${items.join()}]`
  return base === null
    ? spliceMembers(omitMembers(request, [['previous_response_id']]), { input })
    : spliceMembers(request, { previous_response_id: JSON.stringify(base), input })
}

/** Collects the output of a response from its events. */
export class OutputCollector {
  readonly #items: string[] = []
  /** Id of the response; null until it is known. */
  id: string | null = null
  /** True if the last event says that the provider stores the response. */
  isKept = false
  isComplete = false
  bytes = 0

  add(type: string, json: string): void {
    if (type === 'response.output_item.done') {
      const item = memberText(json, 'item')
      const at = Number(memberText(json, 'output_index') ?? this.#items.length)
      if (item === undefined) return
      this.#items[at] = item
      this.bytes += item.length
    } else if (/^response\.(created|completed|incomplete)$/.test(type)) {
      const { id, store } = JSON.parse(json).response ?? {}
      if (typeof id === 'string') this.id = id
      this.isKept = store !== false
      this.isComplete = type !== 'response.created'
    }
  }

  /** Items as JSON strings, in order. */
  get items(): readonly string[] {
    return this.#items.filter((item) => item !== undefined)
  }
}
