// Chat and responses requests that models refuse, with the wording of OpenAI, xAI and DeepSeek.
import type { Facts } from '../../src/models/facts.ts'
import type { Fields, ModelProblem, RequestHeaders } from './problem.ts'
import { tokensIn } from './tokens.ts'

const VALUE = 'unsupported_value'
const PARAMETER = 'unsupported_parameter'

export function chatProblem(body: Fields, facts: Facts, model: string): ModelProblem | null {
  const { reasoning_effort: effort } = body
  if (typeof body.max_tokens === 'number' && facts.chat_limit === 'max_completion_tokens')
    return {
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      param: 'max_tokens',
      code: PARAMETER,
    }
  return (
    effortProblem('reasoning_effort', effort, facts) ??
    toolsProblem(body, facts, model) ??
    samplingProblem(body, effort, facts, PARAMETER) ??
    reasoningProblem(body, facts) ??
    limitProblem(body, facts) ??
    lengthProblem('messages', body, facts)
  )
}

export function responsesProblem(body: Fields, facts: Facts): ModelProblem | null {
  const effort = body.reasoning?.effort
  return (
    effortProblem('reasoning.effort', effort, facts) ??
    samplingProblem(body, effort, facts) ??
    lengthProblem('input', body, facts)
  )
}

function limitProblem(body: Fields, { output }: Facts): ModelProblem | null {
  const param = ['max_completion_tokens', 'max_tokens'].find((name) => body[name] > (output ?? Infinity))
  return param === undefined
    ? null
    : {
        message: `${param} is too large: ${body[param]}. This model supports at most ${output} completion tokens, whereas you provided ${body[param]}.`,
        param,
        code: 'invalid_value',
      }
}

const lengthProblem = (param: string, body: Fields, { context }: Facts): ModelProblem | null =>
  context !== undefined && tokensIn(body) > context
    ? {
        message:
          'Your input exceeds the context window of this model. Please adjust your input and try again.',
        param,
        code: 'context_length_exceeded',
      }
    : null

const LITE_MARKER = 'x-openai-internal-codex-responses-lite'

/** Checks the header that marks Codex's reduced form. */
export const liteProblem = (headers: RequestHeaders, { responses_lite }: Facts): ModelProblem | null =>
  headers[LITE_MARKER] !== undefined && responses_lite === 'no'
    ? { message: 'This model is not supported when using X-OpenAI-Internal-Codex-Responses-Lite.' }
    : null

function effortProblem(param: string, effort: unknown, { efforts }: Facts): ModelProblem | null {
  if (typeof effort !== 'string' || !efforts || (efforts as readonly string[]).includes(effort)) return null
  if (efforts.length === 0) return { message: 'Model does not support parameter reasoningEffort', param }
  const words = efforts.map((each) => `'${each}'`)
  return {
    message: `Unsupported value: '${param}' does not support '${effort}' with this model. Supported values are: ${words.slice(0, -1).join(', ')}, and ${words.at(-1)}.`,
    param,
    code: VALUE,
  }
}

function toolsProblem(
  { tools, reasoning_effort }: Fields,
  { chat_tools }: Facts,
  model: string,
): ModelProblem | null {
  if (!tools?.some(({ type }: Fields) => type === 'function')) return null
  const refused = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions.`
  if (chat_tools === 'no')
    return { message: `${refused} Please use /v1/responses instead.`, param: 'reasoning_effort' }
  return chat_tools === 'effort_none' && reasoning_effort !== 'none'
    ? {
        message: `${refused} To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
        param: 'reasoning_effort',
      }
    : null
}

function samplingProblem(
  body: Fields,
  effort: unknown,
  { sampling, thinks_unasked }: Facts,
  code?: string,
): ModelProblem | null {
  const thinks = effort === undefined || effort === null ? thinks_unasked === 'yes' : effort !== 'none'
  for (const param of ['temperature', 'top_p']) {
    const value = body[param]
    if (typeof value !== 'number') continue
    if (sampling === 'default' && value !== 1)
      return {
        message: `Unsupported value: '${param}' does not support ${value} with this model. Only the default (1) value is supported.`,
        param,
        code: VALUE,
      }
    if (sampling === 'none' || (sampling === 'without_thinking' && thinks))
      return {
        message: `Unsupported parameter: '${param}' is not supported with this model.`,
        param,
        ...(code !== undefined && { code }),
      }
  }
  return null
}

/** Checks that calls since the user's last message have their reasoning. */
function reasoningProblem({ messages, thinking }: Fields, { signatures }: Facts): ModelProblem | null {
  if (signatures !== 'reasoning' || thinking?.type === 'disabled' || !Array.isArray(messages)) return null
  const since = messages.slice(messages.findLastIndex(({ role }: Fields) => role === 'user') + 1)
  const lost = since.some(
    ({ role, tool_calls, reasoning_content }: Fields) =>
      role === 'assistant' && tool_calls?.length > 0 && typeof reasoning_content !== 'string',
  )
  return lost
    ? { message: 'The reasoning_content in the thinking mode must be passed back to the API.' }
    : null
}
