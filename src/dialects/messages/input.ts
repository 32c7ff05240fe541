// Extracts the model's input from a Messages request: the texts of all blocks and tools, and the number of
// images and files. Not recursive, because a sender may nest a request to any depth.
import { countMembers, estimateTokens, readableText } from '../../core/token-estimate.ts'
import { isObject, type Json } from '../json.ts'

/** Members that no model reads as text: images, files, signatures, encrypted data, provider hints. */
const UNREAD = new Set([
  'source',
  'data',
  'signature',
  'encrypted_content',
  'encrypted_index',
  'cache_control',
])

export interface Input {
  /**
   * Text to count. Includes member names, as an estimate of the text that a provider adds around messages and
   * tools.
   */
  readonly text: string
  readonly binaries: number
}

export function inputOf({ system, messages, tools, output_config, output_format }: Json): Input {
  const text = readableText([system, messages], UNREAD, [tools, output_config, output_format])
  return { text, binaries: countMembers([system, messages], isBinary) }
}

/** Returns true for an image or a file, as bytes or by reference. Other sources hold text. */
const isBinary = (name: string, source: unknown): boolean =>
  name === 'source' && isObject(source) && source.type !== 'text' && source.type !== 'content'

/** Tokens assumed for an image or a file, both here and in budgets. */
const BINARY_TOKENS = 1_500

/** Estimates the length of a request that no provider can count. */
export function estimateAll(body: Json): number {
  const { text, binaries } = inputOf(body)
  return estimateTokens(text) + BINARY_TOKENS * binaries
}
