// Messages requests that Claude's models refuse, with Anthropic's wording.
import type { Facts } from '../../src/models/facts.ts'
import { EFFORTS } from '../../src/models/facts.ts'
import type { Fields, ModelProblem } from './problem.ts'
import { tokensIn } from './tokens.ts'

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

export function messagesProblem(body: Fields, facts: Facts, model: string): ModelProblem | null {
  for (const rule of RULES) {
    const message = rule(body, facts, model)
    if (message) return { message }
  }
  return null
}
