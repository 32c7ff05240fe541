// The part of a Gemini request that a model reads: texts of all parts and tools, and the number of pictures
// and files. Google accepts names in camelCase and in snake_case. Not recursive: the sender decides how deep
// a request is.
import { countMembers, estimateTokens, readableText } from '../../core/token-estimate.ts'
import { isObject, type Json } from '../json.ts'

/** Returns a member by its camelCase name or the same name in snake_case. */
export const either = (value: unknown, name: string): unknown =>
  isObject(value)
    ? (value[name] ?? value[name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`)])
    : undefined

const BINARY = new Set(['inlineData', 'inline_data', 'fileData', 'file_data'])
/** Members that no model reads as text; a signature only proves that a thought is the provider's own. */
const UNREAD = new Set([...BINARY, 'thoughtSignature', 'thought_signature'])

export interface Input {
  /** Includes names of members: they stand for the text that a provider puts around contents and tools. */
  readonly text: string
  readonly binaries: number
}

export function inputOf(body: Json): Input {
  // A count may hold a whole request instead. A member may appear in both spellings.
  const requests = [body, body.generateContentRequest, body.generate_content_request].filter(isObject)
  const contents = requests.flatMap((each) => [
    each.systemInstruction,
    each.system_instruction,
    each.contents,
  ])
  const definitions = requests.flatMap((each) => [each.tools, each.generationConfig, each.generation_config])
  return {
    text: readableText(contents, UNREAD, definitions),
    binaries: countMembers(contents, (name) => BINARY.has(name)),
  }
}

/** Tokens assumed for a picture or a file, as in budgets. */
const BINARY_TOKENS = 1_500

/** Estimates the length of a request if no provider counts it. */
export function estimateAll(body: Json): number {
  const { text, binaries } = inputOf(body)
  return estimateTokens(text) + BINARY_TOKENS * binaries
}
