// Requests that Gemini's models refuse, with Google's wording.
import type { Facts } from '../../src/models/facts.ts'
import { geminiTurns } from '../schemas/conversation.ts'
import type { Fields, ModelProblem } from './problem.ts'
import { tokensIn } from './tokens.ts'

export function geminiProblem(body: Fields, facts: Facts): ModelProblem | null {
  const message =
    thinkingProblem(body.generationConfig?.thinkingConfig ?? {}, facts) ??
    (facts.signatures === 'calls' ? signatureProblem(body.contents) : null) ??
    schemaProblem(body.tools, facts.schema_refused ?? []) ??
    limitProblem(body, facts)
  return message === null ? null : { message }
}

function limitProblem(body: Fields, { context, output }: Facts): string | null {
  const asked = body.generationConfig?.maxOutputTokens
  if (output !== undefined && asked > output)
    return `Unable to submit request because it has a maxOutputTokens value of ${asked} but the supported range is from 1 (inclusive) to ${output + 1} (exclusive). Update the value and try again.`
  const tokens = context === undefined ? 0 : tokensIn(body)
  return tokens > (context ?? 0)
    ? `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${context}).`
    : null
}

function thinkingProblem(
  { thinkingLevel: level, thinkingBudget: budget }: Fields,
  { thinking, efforts, budget: range }: Facts,
): string | null {
  if (level !== undefined && budget !== undefined)
    return 'You can only set one of thinking budget and thinking level.'
  if (level !== undefined) {
    const isTaken = thinking?.includes('level') && (!efforts || efforts.includes(level.toLowerCase()))
    return thinking && !isTaken ? 'Thinking level is not supported for this model.' : null
  }
  if (budget === 0 && thinking && !thinking.includes('off'))
    return 'Budget 0 is invalid. This model only works in thinking mode.'
  return range && budget > 0 && (budget < range[0] || budget > range[1])
    ? `The thinking budget ${budget} is invalid. Please choose a value between ${range[0]} and ${range[1]}.`
    : null
}

/**
 * Checks the first call of each step since the user's last message; later calls of a step have no signature.
 */
function signatureProblem(contents: unknown): string | null {
  if (!Array.isArray(contents)) return null
  const isSaid = ({ role, parts }: Fields) =>
    role !== 'model' && !parts?.some((part: Fields) => 'functionResponse' in part)
  const turns = geminiTurns(contents.slice(contents.findLastIndex(isSaid) + 1))
  for (const [position, { parts }] of turns.entries()) {
    const first: Fields | undefined = parts.find((part) => 'functionCall' in part)
    if (first && !first.thoughtSignature)
      return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${first.functionCall.name}\` , position ${position + 1}.`
  }
  return null
}

function schemaProblem(tools: unknown, refused: readonly string[]): string | null {
  if (!Array.isArray(tools)) return null
  for (const [at, { functionDeclarations = [] }] of tools.entries())
    for (const [index, { parameters }] of functionDeclarations.entries()) {
      const word = refused.find((each) => holdsKey(parameters, each))
      if (word !== undefined)
        return `Invalid JSON payload received. Unknown name "${word}" at 'tools[${at}].function_declarations[${index}].parameters': Cannot find field.`
    }
  return null
}

/** Returns true if a schema contains this keyword; a property of that name does not count. */
function holdsKey(schema: unknown, word: string): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return Object.entries(schema).some(([name, value]) =>
    name === 'properties' && typeof value === 'object' && value !== null
      ? Object.values(value).some((each) => holdsKey(each, word))
      : name === word || holdsKey(value, word),
  )
}
