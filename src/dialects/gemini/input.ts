// What of a Gemini request a model reads: the texts of all kinds of parts and of tools, and how many pictures and files.
// Google takes names in camelCase and in snake_case. Never recurses: the sender chooses how deep a request is.
import { estimateTokens } from '../../token-estimate.ts'
import { isObject, type Json } from '../json.ts'

/** A member by its name, or by the same name in snake_case. */
export const either = (value: unknown, name: string): unknown =>
  isObject(value)
    ? (value[name] ?? value[name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`)])
    : undefined

/** Members that no model reads as text: a proof that a thought is the provider's own. */
const UNREAD = new Set(['thoughtSignature', 'thought_signature'])
const BINARY = new Set(['inlineData', 'inline_data', 'fileData', 'file_data'])

export interface Input {
  /** Names of members too: they stand for what a provider writes around contents and tools. */
  readonly text: string
  readonly binaries: number
}

export function inputOf(body: Json): Input {
  const texts: string[] = []
  let binaries = 0
  const waiting: unknown[] = [either(body, 'systemInstruction'), body.contents, body.tools]
  // A question for a count may hold a whole request instead.
  const whole = either(body, 'generateContentRequest')
  if (isObject(whole)) waiting.push(either(whole, 'systemInstruction'), whole.contents, whole.tools)
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) for (const each of value) waiting.push(each)
    else if (isObject(value))
      for (const [name, each] of Object.entries(value)) {
        if (UNREAD.has(name)) continue
        if (BINARY.has(name)) binaries++
        else waiting.push(name, each)
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
