// Converts blocks to a Messages request. Format: Anthropic API reference, "Messages", "Extended thinking".
// Follows Anthropic's rules for a conversation: roles alternate, results come first in the turn after their
// calls, and thinking appears only if it can continue.
import type { Losses } from '../../core/losses.ts'
import { schemaSubset } from '../../models/requests.ts'
import {
  acceptedChoice,
  acceptedEffort,
  acceptedLimit,
  acceptedSampling,
  isAcceptedImage,
  isOff,
  typedSource,
} from '../accepted.ts'
import {
  type Block,
  budgetOfEffort,
  type Conversation,
  nearestEffort,
  type Peer,
  type ResultBlock,
  type Source,
  type Tool,
  type Turn,
  withoutSeedAndPenalties,
  writeExtras,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { schemaWithin, withoutTopAlternatives } from '../json-schema.ts'
import { argumentsOf, idForProvider } from '../tools.ts'
import { beginningWithUser, withoutBlankTexts, withPairedCalls } from '../turns.ts'
import { FAMILY, REDACTED } from './read-request.ts'

/** Default of `max_tokens`, a required field. Every model since Claude 4 accepts this value. */
export const DEFAULT_MAX_TOKENS = 32_000

const EXTRAS = new Set([
  'metadata',
  'service_tier',
  'container',
  'mcp_servers',
  'context_management',
  'safeguards',
])

export function writeRequest(asked: Conversation, peer: Peer, losses: Losses): Record<string, unknown> {
  const { tools, parallel, maxTokens, stop, format, user, extras } = asked
  const turns = withPairedCalls(asked.turns, losses)
  const { facts } = peer
  const choice = acceptedChoice(asked.choice, facts, losses)
  const begin = turns.findIndex(({ role }) => role === 'user' || role === 'assistant')
  const [before, after] = begin < 0 ? [turns, []] : [turns.slice(0, begin), turns.slice(begin)]
  if (turns.some(({ role }) => role === 'developer')) losses.add('role.developer')
  const system = before.flatMap(({ blocks }) => blocks).flatMap((block) => textFor(block, losses))
  const folded = withoutBlankTexts(after).map((turn) => foldedTurn(turn, losses))
  const messages = merged(beginningWithUser(folded, losses), losses)
    .map(({ role, blocks }) => ({
      role,
      content: blocks.flatMap((block) => blockFor(block, peer, losses)),
    }))
    .filter(({ content }) => content.length > 0)
  // Anthropic requires a message, so that an instruction alone becomes the user's turn.
  const isAlone = messages.length === 0 && system.length > 0
  if (isAlone) {
    losses.add('system.place')
    messages.push({ role: 'user', content: system })
  }
  const body: Record<string, unknown> = {
    max_tokens: acceptedLimit(maxTokens ?? DEFAULT_MAX_TOKENS, facts, losses),
    messages: withoutLastSpace(messages),
  }
  if (system.length > 0 && !isAlone) body.system = system
  if (tools.length > 0) body.tools = tools.map((tool) => toolFor(tool, losses))
  const toolChoice = choiceFor(choice, parallel, tools.length > 0)
  if (toolChoice) body.tool_choice = toolChoice
  if (stop.length > 0) body.stop_sequences = stop
  writeReasoning(body, { ...asked, choice, turns: after, peer }, losses)
  writeSampling(body, acceptedSampling(asked.sampling, facts, thinks(body), losses), losses)
  if (format?.type === 'schema') losses.of(format.name ?? format.strict, 'format.name')
  if (format?.type === 'schema')
    body.output_config = {
      ...(body.output_config as object),
      format: {
        type: 'json_schema',
        schema: schemaWithin(format.schema, schemaSubset('anthropic'), losses),
      },
    }
  else losses.of(format, 'format')
  if (user !== null) body.metadata = { user_id: user }
  writeExtras(extras, FAMILY, EXTRAS, body, losses)
  return body
}

/** Moves an instruction within the conversation into the user's turn. */
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
    input_schema: { type: 'object', ...(schema && argumentsSchema(schema, strict === true, losses)) },
    ...(strict === null ? {} : { strict }),
    ...hint(tool),
  }
}

/** Returns the schema of a tool's arguments. Anthropic reads the schema of a strict tool as that of an answer. */
function argumentsSchema(schema: Json, isStrict: boolean, losses: Losses): Json {
  const flat = withoutTopAlternatives(schema, losses)
  return isStrict ? schemaWithin(flat, schemaSubset('anthropic'), losses) : flat
}

interface Message {
  readonly role: Turn['role']
  readonly content: readonly object[]
}

/** Removes white space at the end of a conversation that ends with the beginning of the answer; Anthropic refuses it. */
function withoutLastSpace(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1)
  const end = last?.content.at(-1) as { type?: string; text?: string } | undefined
  if (last?.role !== 'assistant' || end?.type !== 'text' || end.text === undefined) return messages
  const content = [...last.content.slice(0, -1), { ...end, text: end.text.trimEnd() }]
  return [...messages.slice(0, -1), { ...last, content }]
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

type Wished = Pick<Conversation, 'reasoning' | 'turns' | 'choice'> & { readonly peer: Peer }

/** Requests thinking in the form that the model accepts. Uses a budget if the model's facts are unknown. */
function writeReasoning(body: Record<string, unknown>, wished: Wished, losses: Losses): void {
  const { reasoning, peer } = wished
  const { effort, budget, on } = reasoning
  const { thinking: taken = ['budget', 'off'], efforts = [] } = peer.facts
  if (effort === null && budget === null && on === null) return
  if (isOff(reasoning) && taken.includes('off')) {
    body.thinking = { type: 'disabled' }
    return
  }
  if (isOff(reasoning) && taken.includes('between_tools')) {
    losses.add('thinking.off')
    body.thinking = { type: 'between_tools' }
    return
  }
  const isExact = effort === null && budget !== null && taken.includes('budget') && takesBudget(wished)
  if (!taken.includes('adaptive') || isExact) {
    writeBudget(body, wished, losses)
    return
  }
  body.thinking = { type: 'adaptive' }
  const level = acceptedEffort(reasoning, peer.facts, efforts, losses)
  if (level !== null) body.output_config = { effort: level }
}

/**
 * Returns false if a budget would be refused: with a forced tool, or in a turn with calls but without its
 * thinking.
 */
function takesBudget({ choice, turns, peer }: Wished): boolean {
  return choice?.type !== 'required' && choice?.type !== 'tool' && canGoOn(turns, peer)
}

function writeBudget(body: Record<string, unknown>, wished: Wished, losses: Losses): void {
  const { reasoning, peer } = wished
  const { effort, budget } = reasoning
  const { efforts = [], output = Number.POSITIVE_INFINITY } = peer.facts
  const tokensOfEffort = budgetOfEffort(effort ?? 'medium')
  if ((budget === null && tokensOfEffort === null) || !takesBudget(wished)) {
    losses.add(effort === null ? 'thinking.budget' : 'effort')
    return
  }
  if (efforts.length > 0 && effort !== null)
    body.output_config = { effort: nearestEffort(effort, efforts, losses) }
  else if (budget === null) losses.add('effort') // the level is converted to a number of tokens
  const wanted = budget ?? tokensOfEffort!
  const most = body.max_tokens as number
  const tokens = Math.max(MIN_BUDGET_TOKENS, Math.min(wanted, most - MIN_BUDGET_TOKENS))
  if (most <= tokens) {
    losses.add('max_tokens')
    body.max_tokens = Math.min(tokens + most, output)
  }
  if (budget !== null && tokens !== budget) losses.add('thinking.budget')
  body.thinking = { type: 'enabled', budget_tokens: tokens }
}

/**
 * Returns true if Anthropic accepts thinking in the last turn. A turn that waits for results must begin with
 * thinking.
 */
function canGoOn(turns: readonly Turn[], { family }: Peer): boolean {
  const last = turns.findLast(({ role }) => role === 'assistant')
  if (!last?.blocks.some(({ type }) => type === 'call')) return true
  const behind = turns.slice(turns.lastIndexOf(last) + 1)
  if (!behind.some(({ blocks }) => blocks.some(({ type }) => type === 'result'))) return true
  return last.blocks.some(
    (block) => block.type === 'reasoning' && block.opaque?.family === family && block.opaque.bytes !== '',
  )
}

const thinks = ({ thinking }: Record<string, unknown>): boolean =>
  thinking !== undefined && (thinking as { type: string }).type !== 'disabled'

function writeSampling(
  body: Record<string, unknown>,
  sampling: Conversation['sampling'],
  losses: Losses,
): void {
  const { temperature, topP, topK } = sampling
  const isThinking = thinks(body)
  if (temperature !== null && isThinking && temperature !== 1) losses.add('sampling.temperature')
  else if (temperature !== null) {
    body.temperature = Math.min(temperature, 1)
    if (temperature > 1) losses.add('sampling.temperature')
  }
  // Newer models accept only one of temperature and top_p.
  if (topP !== null && (isThinking || temperature !== null)) losses.add('sampling.temperature')
  else if (topP !== null) body.top_p = topP
  if (topK !== null && isThinking) losses.add('sampling.top_k')
  else if (topK !== null) body.top_k = topK
  withoutSeedAndPenalties(sampling, losses)
}

const hint = ({ cache }: { readonly cache?: unknown }) =>
  cache === undefined ? {} : { cache_control: cache }

function textFor(block: Block, losses: Losses): object[] {
  if (block.type === 'text')
    // Anthropic refuses a text of only white space.
    return block.text.trim() === '' ? [] : [{ type: 'text', text: block.text, ...hint(block) }]
  losses.add(block.type === 'unknown' ? block.loss : block.type === 'image' ? 'image' : 'unknown.block')
  return []
}

/** Converts a block of a request. Returns an empty list if the block cannot be written. */
function blockFor(block: Block, peer: Peer, losses: Losses): object[] {
  switch (block.type) {
    case 'text':
      return textFor(block, losses)
    case 'image': {
      losses.of(block.detail, 'image.detail')
      const typed = typedSource(block.source)
      const source = isAcceptedImage('messages', typed) ? sourceFor(typed) : null
      if (source) return [{ type: 'image', source, ...hint(block) }]
      losses.add(block.source.kind === 'file' ? 'file' : 'image')
      return []
    }
    case 'document': {
      const source = documentSource(typedSource(block.source))
      if (source)
        return [{ type: 'document', source, ...(block.name ? { title: block.name } : {}), ...hint(block) }]
      const { source: from } = block
      losses.add(
        from.kind === 'file'
          ? 'file'
          : from.kind === 'base64' && from.mediaType.startsWith('audio/')
            ? 'audio'
            : 'document',
      )
      return []
    }
    case 'reasoning':
      return reasoningFor(block, peer, losses)
    case 'call': {
      const input = argumentsOf(block.args)
      if (input === null) losses.add('tool.arguments')
      return [
        {
          type: 'tool_use',
          id: idForProvider(block.id),
          name: block.name,
          input: input ?? { input: block.args },
          ...hint(block),
        },
      ]
    }
    case 'result':
      return [resultFor(block, peer, losses)]
    case 'unknown':
      if (block.dialect === 'messages') return [block.raw as object]
      losses.add(block.loss)
      return []
  }
}

/** Converts earlier reasoning. Anthropic refuses reasoning without a signature. */
function reasoningFor(
  { text, opaque }: Extract<Block, { type: 'reasoning' }>,
  { family, returnsReasoning }: Peer,
  losses: Losses,
): object[] {
  if (!returnsReasoning || opaque?.family !== family || opaque.bytes === '') {
    if (opaque && opaque.bytes !== '') losses.add('thinking.signature')
    if (text !== '') losses.add('thinking.text')
    return []
  }
  return opaque.bytes.startsWith(REDACTED)
    ? [{ type: 'redacted_thinking', data: opaque.bytes.slice(REDACTED.length) }]
    : [{ type: 'thinking', thinking: text, signature: opaque.bytes }]
}

function resultFor(block: ResultBlock, peer: Peer, losses: Losses): object {
  const { id, blocks, error } = block
  const [only] = blocks
  const content =
    blocks.length === 1 && only!.type === 'text' && only!.cache === undefined
      ? only!.text.trim() && only!.text
      : blocks.flatMap((each) => blockFor(each, peer, losses))
  return {
    type: 'tool_result',
    tool_use_id: idForProvider(id),
    content,
    ...(error ? { is_error: true } : {}),
    ...hint(block),
  }
}

const sourceFor = (source: Source): object | null =>
  source.kind === 'base64'
    ? { type: 'base64', media_type: source.mediaType, data: source.data }
    : source.kind === 'url'
      ? { type: 'url', url: source.url }
      : null

const documentSource = (source: Source): object | null =>
  source.kind === 'text'
    ? { type: 'text', media_type: 'text/plain', data: source.text }
    : source.kind === 'base64' && source.mediaType !== 'application/pdf'
      ? source.mediaType.startsWith('text/')
        ? {
            type: 'text',
            media_type: 'text/plain',
            data: Buffer.from(source.data, 'base64').toString('utf8'),
          }
        : null
      : sourceFor(source)
