// Refusals of a request by what a model accepts, in the words of its provider: Gemini, Anthropic and OpenAI.
// Pure; knows models only by their facts.
import { EFFORTS, type Facts } from '../../src/models/facts.ts'
import { geminiTurns } from '../schemas/refusals.ts'

/** Body of a request. */
// biome-ignore lint/suspicious/noExplicitAny: fields of any depth are read, of a body that its schema has judged
export type Fields = Readonly<Record<string, any>>

/** Headers of a request, by name. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Reason to refuse a request, in the provider's words. */
interface ModelProblem {
  readonly message: string
  /** Name of the refused field, and OpenAI's error code. */
  readonly param?: string
  readonly code?: string
}

/** Characters per token. Few texts have more, so the estimate is seldom too high. */
const CHARACTERS_PER_TOKEN = 4

/** Returns a low estimate of the tokens in a body; files and pictures are not counted. */
function tokensIn(body: unknown): number {
  let characters = 0
  const walk = (value: unknown): void => {
    if (typeof value === 'string') characters += value.length
    else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) if (name !== 'data') walk(each)
  }
  walk(body)
  return Math.floor(characters / CHARACTERS_PER_TOKEN)
}

function geminiProblem(body: Fields, facts: Facts): ModelProblem | null {
  const message =
    servingProblem(facts) ??
    thinkingProblem(body.generationConfig?.thinkingConfig ?? {}, facts) ??
    (facts.signatures === 'calls' ? signatureProblem(body.contents) : null) ??
    schemaProblem(body.tools, facts.schema_refused ?? []) ??
    geminiLimitProblem(body, facts)
  return message === null ? null : { message }
}

/** Some models are served by Interactions only. */
const servingProblem = ({ dialects }: Facts): string | null =>
  dialects?.includes('interactions') && !dialects.includes('gemini')
    ? 'This model only supports Interactions API.'
    : null

function geminiLimitProblem(body: Fields, { context, output }: Facts): string | null {
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

type Rule = (body: Fields, facts: Facts, model: string) => string | null | false | undefined

const unsupported = (type: string) => `"thinking.type.${type}" is not supported for this model.`
const ADAPTIVE = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'

const thinking: Rule = ({ thinking: asked, max_tokens }, { thinking: taken }) => {
  if (!asked || !taken) return null
  const { type, budget_tokens, ...rest } = asked
  if (type === 'enabled' && !taken.includes('budget')) return `${unsupported(type)} ${ADAPTIVE}`
  if (type === 'enabled' && max_tokens <= budget_tokens)
    return '`max_tokens` must be greater than `thinking.budget_tokens`.'
  if (type === 'adaptive' && !taken.includes('adaptive'))
    return 'adaptive thinking is not supported on this model'
  if (type === 'between_tools' && !taken.includes('between_tools')) return unsupported(type)
  const [extra] =
    type === 'between_tools' ? Object.keys({ ...rest, ...(budget_tokens && { budget_tokens }) }) : []
  if (extra !== undefined) return `thinking.between_tools.${extra}: Extra inputs are not permitted`
  if (type !== 'disabled' || taken.includes('off')) return null
  return taken.includes('between_tools')
    ? `${unsupported(type)} Use "thinking.type.between_tools" for the lowest thinking setting, or "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
    : `${unsupported(type)} ${ADAPTIVE}`
}

const effort: Rule = ({ thinking: asked, output_config }, { efforts, off_up_to }) => {
  const level = output_config?.effort
  if (level === undefined || level === null || !efforts) return null
  if (efforts.length === 0) return 'This model does not support the effort parameter.'
  if (!efforts.includes(level))
    return `output_config.effort: Input should be ${efforts.map((each) => `'${each}'`).join(', ')}`
  const isOff = asked?.type === 'disabled' || asked?.type === 'between_tools'
  return (
    isOff &&
    off_up_to !== undefined &&
    EFFORTS.indexOf(level) > EFFORTS.indexOf(off_up_to) &&
    `output_config.effort '${level}' is not supported when thinking is disabled on this model. Use effort '${off_up_to}' or below, or enable thinking.`
  )
}

/** Values that models accept even if they accept no other values of the field. */
const DEFAULTS: Readonly<Record<string, number>> = { temperature: 1, top_p: 0.99 }

const sampling: Rule = (body, { sampling: taken }) => {
  const asked = ['temperature', 'top_p', 'top_k'].filter((name) => typeof body[name] === 'number')
  if (taken === 'one_without_thinking' && asked.includes('temperature') && asked.includes('top_p'))
    return '`temperature` and `top_p` cannot both be specified for this model'
  if (taken === 'default' && asked.length > 1) return `\`${asked[1]}\` is deprecated for this model.`
  const thinks = body.thinking?.type === 'enabled'
  for (const name of asked) {
    if (taken === 'none' || (taken === 'default' && body[name] !== DEFAULTS[name]))
      return `\`${name}\` is deprecated for this model.`
    if (!taken?.endsWith('without_thinking') || !thinks) continue
    if (name !== 'temperature') return `\`${name}\` must be unset when thinking is enabled.`
    if (body[name] !== 1) return '`temperature` may only be set to 1 when thinking is enabled.'
  }
  return null
}

const tools: Rule = ({ tool_choice, thinking: asked, tools: offered = [] }, facts, model) => {
  const refused = offered.find(({ type }: Fields) => facts.refused_tools?.includes(type))
  if (refused) return `'${model}' does not support tool types: ${refused.type}.`
  if (tool_choice?.type !== 'any' && tool_choice?.type !== 'tool') return null
  if (facts.forced_tools === 'no')
    return 'tool_choice: type "tool" and "any" are not supported for this model.'
  return (
    facts.forced_tools === 'without_thinking' &&
    asked?.type === 'enabled' &&
    'Thinking may not be enabled when tool_choice forces tool use.'
  )
}

const prefill: Rule = ({ messages, thinking: asked }, { prefill: taken }) =>
  messages.at(-1)?.role === 'assistant' &&
  (taken === 'no' || (taken === 'without_thinking' && asked?.type === 'enabled')) &&
  'This model does not support assistant message prefill. The conversation must end with a user message.'

const limits: Rule = (body, { context, output }, model) => {
  if (output !== undefined && body.max_tokens > output)
    return `max_tokens: ${body.max_tokens} > ${output}, which is the maximum allowed number of output tokens for ${model}`
  if (context === undefined) return null
  const tokens = tokensIn(body)
  return tokens > context && `prompt is too long: ${tokens} tokens > ${context} maximum`
}

const RULES = [thinking, effort, sampling, tools, prefill, limits]

function messagesProblem(body: Fields, facts: Facts, model: string): ModelProblem | null {
  for (const rule of RULES) {
    const message = rule(body, facts, model)
    if (message) return { message }
  }
  return null
}

const VALUE = 'unsupported_value'
const PARAMETER = 'unsupported_parameter'

function chatProblem(body: Fields, facts: Facts, model: string): ModelProblem | null {
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

function responsesProblem(body: Fields, facts: Facts): ModelProblem | null {
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
const liteProblem = (headers: RequestHeaders, { responses_lite }: Facts): ModelProblem | null =>
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

const BY_ENDPOINT: Readonly<
  Record<string, (body: Fields, facts: Facts, model: string) => ModelProblem | null>
> = {
  messages: messagesProblem,
  'messages/count_tokens': ({ max_tokens: _, messages, ...body }, facts, model) =>
    messagesProblem({ ...body, messages: [] }, facts, model),
  'chat/completions': chatProblem,
  responses: responsesProblem,
  'models/{model}:generateContent': geminiProblem,
}

/** Returns the first reason to refuse a request to an endpoint; null if no known fact is a reason. */
export function modelProblem(
  endpoint: string,
  model: string,
  body: unknown,
  facts: Facts,
  headers: RequestHeaders = {},
): ModelProblem | null {
  const marked = endpoint === 'responses' ? liteProblem(headers, facts) : null
  if (marked) return marked
  const judge = BY_ENDPOINT[endpoint]
  return judge && typeof body === 'object' && body !== null ? judge(body as Fields, facts, model) : null
}
