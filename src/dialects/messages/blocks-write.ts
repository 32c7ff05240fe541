// Converts blocks to a messages request. Format: Anthropic API reference, "Messages", "Extended thinking".
// Meets Anthropic's rules for a conversation: alternating roles, results first in the turn after their calls,
// thinking only if it can continue.

import type { Losses } from '../../core/losses.ts'
import {
  type Block,
  budgetOfEffort,
  type Conversation,
  type Peer,
  type Tool,
  type Turn,
  withoutSeedAndPenalties,
  writeExtras,
} from '../blocks.ts'
import { FAMILY } from './blocks-content.ts'
import { blockFor, hint, textFor } from './blocks-write-content.ts'

/** Default `max_tokens`, which is required; every model since Claude 4 accepts this value. */
const DEFAULT_MAX_TOKENS = 32_000

const EXTRAS = new Set([
  'metadata',
  'service_tier',
  'container',
  'mcp_servers',
  'context_management',
  'safeguards',
])

export function writeRequest(asked: Conversation, peer: Peer, losses: Losses): Record<string, unknown> {
  const { turns, tools, choice, parallel, maxTokens, stop, format, user, extras } = asked
  const begin = turns.findIndex(({ role }) => role === 'user' || role === 'assistant')
  const [before, after] = begin < 0 ? [turns, []] : [turns.slice(0, begin), turns.slice(begin)]
  if (turns.some(({ role }) => role === 'developer')) losses.add('role.developer')
  const messages = merged(
    after.map((turn) => foldedTurn(turn, losses)),
    losses,
  ).map(({ role, blocks }) => ({
    role,
    content: blocks.flatMap((block) => blockFor(block, peer, losses)),
  }))
  const body: Record<string, unknown> = {
    max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS,
    messages: messages.filter(({ content }) => content.length > 0),
  }
  const system = before.flatMap(({ blocks }) => blocks).flatMap((block) => textFor(block, losses))
  if (system.length > 0) body.system = system
  if (tools.length > 0) body.tools = tools.map((tool) => toolFor(tool, losses))
  const toolChoice = choiceFor(choice, parallel, tools.length > 0)
  if (toolChoice) body.tool_choice = toolChoice
  if (stop.length > 0) body.stop_sequences = stop
  writeReasoning(body, { ...asked, turns: after, peer }, losses)
  writeSampling(body, asked.sampling, losses)
  if (format?.type === 'schema') losses.of(format.name ?? format.strict, 'format.name')
  if (format?.type === 'schema')
    body.output_config = {
      ...(body.output_config as object),
      format: { type: 'json_schema', schema: format.schema },
    }
  else losses.of(format, 'format')
  if (user !== null) body.metadata = { user_id: user }
  writeExtras(extras, FAMILY, EXTRAS, body, losses)
  return body
}

/** Moves an instruction in mid-conversation into the user's turn. */
function foldedTurn(turn: Turn, losses: Losses): Turn {
  if (turn.role === 'user' || turn.role === 'assistant') return turn
  losses.add('system.place')
  return { role: 'user', blocks: turn.blocks }
}

/** Merges successive turns of one role, with tool results first. */
function merged(turns: readonly Turn[], losses: Losses): Turn[] {
  const out: { role: Turn['role']; blocks: Block[] }[] = []
  for (const { role, blocks } of turns) {
    const last = out.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    else out.push({ role, blocks: [...blocks] })
  }
  return out.map(({ role, blocks }) => {
    const isResult = ({ type }: Block) => type === 'result'
    const firstOther = blocks.findIndex((block) => !isResult(block))
    if (firstOther < 0 || !blocks.slice(firstOther).some(isResult)) return { role, blocks }
    losses.add('order')
    return { role, blocks: [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))] }
  })
}

function toolFor(tool: Tool, losses: Losses): object {
  const { name, description, schema, strict } = tool
  losses.of(tool.grammar, 'tool.custom.grammar')
  return {
    name,
    ...(description === null ? {} : { description }),
    // Anthropic refuses a schema without a type.
    input_schema: { type: 'object', ...schema },
    ...(strict === null ? {} : { strict }),
    ...hint(tool),
  }
}

function choiceFor(
  choice: Conversation['choice'],
  parallel: boolean | null,
  hasTools: boolean,
): object | null {
  if (!hasTools) return null
  const single = parallel === false ? { disable_parallel_tool_use: true } : {}
  if (choice === null) return parallel === false ? { type: 'auto', ...single } : null
  if (choice.type === 'none') return { type: 'none' }
  if (choice.type === 'tool') return { type: 'tool', name: choice.name, ...single }
  return { type: choice.type === 'required' ? 'any' : 'auto', ...single }
}

/** Minimum thinking budget, tokens. */
const MIN_BUDGET_TOKENS = 1_024

/** Asks for thinking if allowed: not with a forced tool, nor in a turn with calls that lost its thinking. */
function writeReasoning(
  body: Record<string, unknown>,
  {
    reasoning: { effort, budget, on },
    turns,
    choice,
    peer,
  }: Pick<Conversation, 'reasoning' | 'turns' | 'choice'> & { peer: Peer },
  losses: Losses,
): void {
  if (effort === 'none' || on === false) {
    body.thinking = { type: 'disabled' }
    return
  }
  if (effort === null && budget === null && on === null) return
  if (effort !== null && budget === null && budgetOfEffort(effort) === null) {
    losses.add('effort')
    return
  }
  const forced = choice?.type === 'required' || choice?.type === 'tool'
  if (!peer.takesReasoning || forced || !canGoOn(turns, peer)) {
    losses.add(effort === null ? 'thinking.budget' : 'effort')
    return
  }
  if (budget === null) losses.add('effort') // a level becomes a number of tokens
  const wanted = budget ?? budgetOfEffort(effort ?? 'medium')!
  const most = body.max_tokens as number
  const tokens = Math.max(MIN_BUDGET_TOKENS, Math.min(wanted, most - MIN_BUDGET_TOKENS))
  if (most <= tokens) {
    losses.add('max_tokens')
    body.max_tokens = tokens + most
  }
  if (budget !== null && tokens !== budget) losses.add('thinking.budget')
  body.thinking = { type: 'enabled', budget_tokens: tokens }
}

/** A turn that waits for results must begin with thinking, or Anthropic refuses to continue it. */
function canGoOn(turns: readonly Turn[], { family }: Peer): boolean {
  const last = turns.findLast(({ role }) => role === 'assistant')
  if (!last?.blocks.some(({ type }) => type === 'call')) return true
  const behind = turns.slice(turns.lastIndexOf(last) + 1)
  if (!behind.some(({ blocks }) => blocks.some(({ type }) => type === 'result'))) return true
  return last.blocks.some(
    (block) => block.type === 'reasoning' && block.opaque?.family === family && block.opaque.bytes !== '',
  )
}

function writeSampling(
  body: Record<string, unknown>,
  sampling: Conversation['sampling'],
  losses: Losses,
): void {
  const { temperature, topP, topK } = sampling
  const thinks = body.thinking !== undefined && (body.thinking as { type: string }).type !== 'disabled'
  if (temperature !== null && thinks && temperature !== 1) losses.add('sampling.temperature')
  else if (temperature !== null) {
    body.temperature = Math.min(temperature, 1)
    if (temperature > 1) losses.add('sampling.temperature')
  }
  // Newer models accept only one of the two.
  if (topP !== null && (thinks || temperature !== null)) losses.add('sampling.temperature')
  else if (topP !== null) body.top_p = topP
  if (topK !== null && thinks) losses.add('sampling.top_k')
  else if (topK !== null) body.top_k = topK
  withoutSeedAndPenalties(sampling, losses)
}
