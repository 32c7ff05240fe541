// Extracts the model's input from a Gemini request: the texts of all parts and tools, and the number of
// images and files. Google accepts names in camelCase and in snake_case. Not recursive, because a sender may
// nest a request to any depth.
import { countMembers, estimateTokens, readableText } from '../../core/token-estimate.ts'
import { isObject, type Json } from '../json.ts'

/** Returns a member by its camelCase name or the same name in snake_case. */
export const either = (value: unknown, name: string): unknown =>
  isObject(value)
    ? (value[name] ?? value[name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`)])
    : undefined

const BINARY = new Set(['inlineData', 'inline_data', 'fileData', 'file_data'])
/** Members that no model reads as text. A signature only proves that the provider produced the thought. */
const UNREAD = new Set([...BINARY, 'thoughtSignature', 'thought_signature'])

export interface Input {
  /**
   * Text to count. Includes member names, as an estimate of the text that a provider adds around contents and
   * tools.
   */
  readonly text: string
  readonly binaries: number
}

export function inputOf(body: Json): Input {
  // A counting request may contain a whole request. Each member may have either spelling.
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

/** Tokens assumed for an image or a file, both here and in budgets. */
const BINARY_TOKENS = 1_500

/** Estimates the length of a request that no provider can count. */
export function estimateAll(body: Json): number {
  const { text, binaries } = inputOf(body)
  return estimateTokens(text) + BINARY_TOKENS * binaries
}
