// What of a messages request a model reads: the texts of all kinds of blocks and of tools, and how many pictures and
// files. Never recurses: the sender chooses how deep a request is.
import { estimateTokens } from '../../token-estimate.ts'
import { isObject, type Json } from '../json.ts'

/** Members that no model reads as text: proofs, ciphers and hints for the provider. */
const UNREAD = new Set(['signature', 'encrypted_content', 'encrypted_index', 'cache_control'])

/** Kinds of sources that hold no text: pictures and files, as bytes or by reference. */
const isBinary = (source: Json): boolean => source.type !== 'text' && source.type !== 'content'

export interface Input {
  /** Names of members too: they stand for what a provider writes around messages and tools. */
  readonly text: string
  readonly binaries: number
}

export function inputOf({ system, messages, tools }: Json): Input {
  const texts: string[] = []
  let binaries = 0
  const waiting: unknown[] = [system, messages, tools]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) for (const each of value) waiting.push(each)
    else if (isObject(value)) {
      const isRedacted = value.type === 'redacted_thinking'
      for (const [name, each] of Object.entries(value)) {
        if (UNREAD.has(name) || (isRedacted && name === 'data')) continue
        if (name === 'source' && isObject(each) && isBinary(each)) binaries++
        else waiting.push(name, each)
      }
    }
  }
  return { text: texts.join('\n'), binaries }
}

/** Tokens of a picture or a file, as budgets count them. */
const BINARY_TOKENS = 1_500

/** An answer to "how long is this", where no provider gives one. */
export function estimateAll(body: Json): number {
  const { text, binaries } = inputOf(body)
  return estimateTokens(text) + BINARY_TOKENS * binaries
}
