// Converts blocks to a Gemini request. Format: Gemini API reference, "Generating content", "Function
// calling", "Thought signatures", "Thinking". Meets Google's rules for a conversation: alternating roles, a
// name on every result, signatures on the parts that they belong to.
import type { Losses } from '../../core/losses.ts'
import {
  type Block,
  budgetOfEffort,
  type Conversation,
  nearestEffort,
  type Peer,
  type Tool,
  type Turn,
  writeExtras,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { isSince3, partsFor, withSignedCall } from './blocks-write-parts.ts'

const EXTRAS = new Set(['safetySettings', 'labels', 'cachedContent', 'serviceTier'])
const MAX_STOPS = 5

export function writeRequest(
  conversation: Conversation,
  peer: Peer,
  losses: Losses,
): Record<string, unknown> {
  const { turns, tools, choice, parallel, user, extras } = conversation
  const begin = turns.findIndex(({ role }) => role === 'user' || role === 'assistant')
  const [before, after] = begin < 0 ? [turns, []] : [turns.slice(0, begin), turns.slice(begin)]
  if (turns.some(({ role }) => role === 'developer')) losses.add('role.developer')
  const names = new Map(
    turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === 'call' ? [[block.id, block.name] as const] : [])),
    ),
  )
  const body: Record<string, unknown> = {
    contents: merged(after, losses).map(({ role, blocks }) => ({
      role: role === 'assistant' ? 'model' : 'user',
      parts: withSignedCall(partsFor(blocks, { peer, names, losses }), peer),
    })),
  }
  body.contents = (body.contents as { parts: Json[] }[]).filter(({ parts }) => parts.length > 0)
  const system = partsFor(
    before.flatMap(({ blocks }) => blocks),
    { peer, names, losses },
  )
  if (system.length > 0) body.systemInstruction = { parts: system }
  if (tools.length > 0) {
    body.tools = [{ functionDeclarations: tools.map((tool) => declarationFor(tool, losses)) }]
    const calling = callingFor(choice)
    if (calling) body.toolConfig = { functionCallingConfig: calling }
    if (parallel === false) losses.add('tool_choice')
  }
  const config = configFor(conversation, peer, losses)
  if (Object.keys(config).length > 0) body.generationConfig = config
  losses.of(user, 'safety_identifier')
  writeExtras(extras, 'google', EXTRAS, body, losses)
  return body
}

/** Merges successive turns of one role; instructions in mid-conversation join the user's turn. */
function merged(turns: readonly Turn[], losses: Losses): Turn[] {
  const out: { role: Turn['role']; blocks: Block[] }[] = []
  for (const { role, blocks } of turns) {
    const isPlain = role === 'user' || role === 'assistant'
    if (!isPlain) losses.add('system.place')
    const last = out.at(-1)
    if (last?.role === (isPlain ? role : 'user')) last.blocks.push(...blocks)
    else out.push({ role: isPlain ? role : 'user', blocks: [...blocks] })
  }
  return out
}

function declarationFor({ name, description, schema, strict, cache, grammar }: Tool, losses: Losses): Json {
  losses.of(cache, 'cache_control')
  losses.of(strict || null, 'tool.options')
  losses.of(grammar, 'tool.custom.grammar')
  const described = description === null ? { name } : { name, description }
  return schema === null ? described : { ...described, parametersJsonSchema: schema }
}

function callingFor(choice: Conversation['choice']): Json | null {
  if (choice === null) return null
  if (choice.type === 'tool') return { mode: 'ANY', allowedFunctionNames: [choice.name] }
  return { mode: { auto: 'AUTO', none: 'NONE', required: 'ANY' }[choice.type] }
}

function configFor(
  { maxTokens, stop, sampling, reasoning, format }: Conversation,
  peer: Peer,
  losses: Losses,
): Record<string, unknown> {
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty } = sampling
  const said = {
    maxOutputTokens: maxTokens,
    temperature,
    topP,
    topK,
    seed,
    presencePenalty,
    frequencyPenalty,
    stopSequences: stop.length > 0 ? stop.slice(0, MAX_STOPS) : null,
    thinkingConfig: thinkingFor(reasoning, peer, losses),
  }
  if (stop.length > MAX_STOPS) losses.add('stop')
  const config: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(said)) if (value !== null) config[name] = value
  if (format) config.responseMimeType = 'application/json'
  if (format?.type === 'schema') {
    losses.of(format.name ?? format.strict, 'format.name')
    config.responseJsonSchema = format.schema
  }
  return config
}

/** Largest budget that every thinking model accepts, tokens. */
const MAX_BUDGET_TOKENS = 24_576
const LEVELS = ['minimal', 'low', 'medium', 'high']

/** Models since 3 accept a level, older ones a number of tokens; 0 switches thinking off if possible. */
function thinkingFor(
  { effort, budget, on }: Conversation['reasoning'],
  peer: Peer,
  losses: Losses,
): Json | null {
  if (effort === null && budget === null && on === null) return null
  if (!peer.takesReasoning) {
    losses.add('effort')
    return null
  }
  const isOff = on === false || effort === 'none'
  if (isSince3(peer)) {
    if (isOff) {
      losses.add('thinking.off')
      return { thinkingLevel: 'minimal' }
    }
    if (budget !== null) return { includeThoughts: true, thinkingBudget: clamped(budget, losses) }
    const level = effort === null ? null : nearestEffort(effort, LEVELS, losses)
    return { includeThoughts: true, ...(level !== null && { thinkingLevel: level }) }
  }
  if (isOff) return { thinkingBudget: 0 }
  if (budget !== null) return { includeThoughts: true, thinkingBudget: clamped(budget, losses) }
  if (effort === null) return { includeThoughts: true }
  losses.add('effort') // a level becomes a number of tokens
  const tokens = budgetOfEffort(effort)
  return {
    includeThoughts: true,
    ...(tokens !== null && { thinkingBudget: Math.min(tokens, MAX_BUDGET_TOKENS) }),
  }
}

function clamped(budget: number, losses: Losses): number {
  if (budget > MAX_BUDGET_TOKENS) losses.add('thinking.budget')
  return Math.min(budget, MAX_BUDGET_TOKENS)
}
