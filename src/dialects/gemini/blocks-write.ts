// Converts blocks to a Gemini request. Format: Gemini API reference, "Generating content", "Function
// calling", "Thought signatures", "Thinking". Follows Google's rules for a conversation: alternating roles, a
// name on every result, and signatures on their own parts.
import type { Losses } from '../../core/losses.ts'
import { schemaSubset } from '../../models/requests.ts'
import { acceptedEffort, acceptedLimit, acceptedSampling, isOff } from '../accepted.ts'
import {
  type Block,
  budgetOfEffort,
  type Conversation,
  type Peer,
  type Tool,
  type Turn,
  writeExtras,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { schemaWithin } from '../json-schema.ts'
import { beginningWithUser, withPairedCalls } from '../turns.ts'
import { partsFor, withSignedCall } from './blocks-write-parts.ts'
import { BUDGET_TOKENS, LEVELS } from './tuned.ts'

const EXTRAS = new Set(['safetySettings', 'labels', 'cachedContent', 'serviceTier'])
const MAX_STOPS = 5

export function writeRequest(
  conversation: Conversation,
  peer: Peer,
  losses: Losses,
): Record<string, unknown> {
  const { tools, choice, parallel, user, extras } = conversation
  const turns = withPairedCalls(conversation.turns, losses)
  const begin = turns.findIndex(({ role }) => role === 'user' || role === 'assistant')
  const [before, after] = begin < 0 ? [turns, []] : [turns.slice(0, begin), turns.slice(begin)]
  if (turns.some(({ role }) => role === 'developer')) losses.add('role.developer')
  const names = new Map(
    turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === 'call' ? [[block.id, block.name] as const] : [])),
    ),
  )
  const body: Record<string, unknown> = {
    contents: beginningWithUser(merged(after, losses), losses).map(({ role, blocks }) => ({
      role: role === 'assistant' ? 'model' : 'user',
      parts: withSignedCall(partsFor(blocks, { peer, names, losses }), peer),
    })),
  }
  body.contents = (body.contents as { parts: Json[] }[]).filter(({ parts }) => parts.length > 0)
  const system = partsFor(
    before.flatMap(({ blocks }) => blocks),
    { peer, names, losses },
  )
  // Google requires a turn, so that an instruction alone becomes the user's turn.
  if (system.length > 0 && (body.contents as unknown[]).length === 0) {
    losses.add('system.place')
    body.contents = [{ role: 'user', parts: system }]
  } else if (system.length > 0) body.systemInstruction = { parts: system }
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

/** Merges successive turns of one role. Instructions within the conversation join the user's turn. */
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
  const thinkingConfig = thinkingFor(reasoning, peer, losses)
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty } = acceptedSampling(
    sampling,
    peer.facts,
    thinkingConfig?.thinkingBudget !== 0,
    losses,
  )
  const said = {
    maxOutputTokens: acceptedLimit(maxTokens, peer.facts, losses),
    temperature,
    topP,
    topK,
    seed,
    presencePenalty,
    frequencyPenalty,
    stopSequences: stop.length > 0 ? stop.slice(0, MAX_STOPS) : null,
    thinkingConfig,
  }
  if (stop.length > MAX_STOPS) losses.add('stop')
  const config: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(said)) if (value !== null) config[name] = value
  if (format) config.responseMimeType = 'application/json'
  if (format?.type === 'schema') {
    losses.of(format.name ?? format.strict, 'format.name')
    config.responseJsonSchema = schemaWithin(format.schema, schemaSubset('gemini'), losses)
  }
  return config
}

/** Requests thinking by level or budget, whichever the model accepts. A budget of 0 switches it off if possible. */
function thinkingFor(wish: Conversation['reasoning'], { facts }: Peer, losses: Losses): Json | null {
  const { effort, budget, on } = wish
  if (effort === null && budget === null && on === null) return null
  const { thinking = ['budget', 'off'], budget: range = BUDGET_TOKENS } = facts
  if (isOff(wish) && thinking.includes('off')) return { thinkingBudget: 0 }
  if (thinking.includes('level') && (budget === null || isOff(wish))) {
    const thinkingLevel = acceptedEffort(wish, facts, LEVELS, losses)
    return {
      ...(!isOff(wish) && { includeThoughts: true }),
      ...(thinkingLevel !== null && { thinkingLevel }),
    }
  }
  if (isOff(wish)) {
    losses.add('thinking.off')
    return { thinkingBudget: range[0] }
  }
  if (budget === null && effort !== null) losses.add('effort') // a level is converted to a number of tokens
  const tokens = budget ?? (effort === null ? null : budgetOfEffort(effort))
  if (tokens === null) return { includeThoughts: true }
  const thinkingBudget = Math.max(range[0], Math.min(tokens, range[1]))
  if (budget !== null && budget !== thinkingBudget) losses.add('thinking.budget')
  return { includeThoughts: true, thinkingBudget }
}
