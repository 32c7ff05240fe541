// Converts blocks to a Responses request. Format: OpenAI API reference, "Responses". The provider stores
// nothing unless the client asked for storage. Reasoning is therefore requested in encrypted form, to be sent
// back.
import type { Losses } from '../../core/losses.ts'
import { acceptedEffort, acceptedLimit, acceptedSampling } from '../accepted.ts'
import {
  type Block,
  type CallKind,
  type Conversation,
  namedSchema,
  type Peer,
  type Tool,
  type Turn,
  textOfBlocks,
  withoutSeedAndPenalties,
  writeExtras,
} from '../blocks.ts'
import { isObject } from '../json.ts'
import { looseFormat, looseTool } from '../strict.ts'
import { withPairedCalls } from '../turns.ts'
import { itemsFor } from './blocks-write-items.ts'

const EXTRAS = new Set(
  'metadata service_tier store prompt_cache_key prompt_cache_retention safety_identifier top_logprobs verbosity truncation client_metadata context_management max_tool_calls'.split(
    ' ',
  ),
)

/** Minimum output tokens that OpenAI accepts. */
const MIN_OUTPUT_TOKENS = 16

export function writeRequest(asked: Conversation, peer: Peer, losses: Losses): Record<string, unknown> {
  const { choice, parallel, stop, user, extras } = asked
  const turns = withPairedCalls(asked.turns, losses)
  const tools = asked.tools.map((tool) => looseTool(tool, losses))
  const { facts } = peer
  const maxTokens = acceptedLimit(asked.maxTokens, facts, losses)
  const [first, ...others] = turns
  // OpenAI requires an input, so that an instruction alone becomes the user's turn.
  const isAlone = others.length === 0 && first?.role === 'system'
  if (isAlone) losses.add('system.place')
  const isPrompt = !isAlone && first?.role === 'system' && first.blocks.every(({ type }) => type === 'text')
  const kinds = new Map<string, CallKind>()
  const body: Record<string, unknown> = {
    ...(isPrompt ? { instructions: textOfBlocks(first.blocks) } : {}),
    input: (isPrompt ? others : isAlone ? [{ ...first, role: 'user' as const }] : turns).flatMap((turn) =>
      itemsFor(turn, kinds, peer, losses),
    ),
    store: false,
  }
  for (const { blocks } of turns)
    for (const block of blocks) if ('cache' in block) losses.of(block.cache, 'cache_control')
  if (maxTokens !== null) body.max_output_tokens = Math.max(MIN_OUTPUT_TOKENS, maxTokens)
  if (maxTokens !== null && maxTokens < MIN_OUTPUT_TOKENS) losses.add('max_tokens')
  if (tools.length > 0) {
    body.tools = toolsFor(tools, losses)
    if (choice) body.tool_choice = choiceFor(choice, tools)
    if (parallel !== null) body.parallel_tool_calls = parallel
  }
  if (stop.length > 0) losses.add('stop')
  losses.of(asked.sampling.topK, 'sampling.top_k')
  withoutSeedAndPenalties(asked.sampling, losses)
  const effort = writeReasoning(body, asked.reasoning, turns, peer, losses)
  const thinks = effort === null ? facts.thinks_unasked === 'yes' : effort !== 'none'
  const { temperature, topP } = acceptedSampling(asked.sampling, facts, thinks, losses)
  if (temperature !== null) body.temperature = temperature
  if (topP !== null) body.top_p = topP
  const format = formatFor(looseFormat(asked.format, losses))
  if (format) body.text = { format }
  if (user !== null) body.user = user
  writeExtras(extras, 'openai', EXTRAS, body, losses)
  if (body.verbosity !== undefined) {
    body.text = { ...(isObject(body.text) ? body.text : {}), verbosity: body.verbosity }
    delete body.verbosity
  }
  return body
}

function formatFor(format: Conversation['format']): object | null {
  if (format?.type !== 'schema') return format && { type: 'json_object' }
  return { type: 'json_schema', ...namedSchema(format) }
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

/** Writes the reasoning settings and returns the effort. */
function writeReasoning(
  body: Record<string, unknown>,
  wish: Conversation['reasoning'],
  turns: readonly Turn[],
  { family, facts }: Peer,
  losses: Losses,
): string | null {
  const word = acceptedEffort(wish, facts, EFFORTS, losses)
  if (word !== null || wish.on === true)
    body.reasoning = { ...(word === null ? {} : { effort: word }), summary: 'auto' }
  const goesOn = turns.some(({ blocks }) => blocks.some((block) => isOwn(block, family)))
  // Models without reasoning refuse this member.
  if ((body.reasoning !== undefined && word !== 'none') || goesOn)
    body.include = ['reasoning.encrypted_content']
  if (word === 'none') body.reasoning = { effort: word }
  return word
}

const isOwn = (block: Block, family: string): boolean =>
  block.type === 'reasoning' && block.opaque?.family === family && block.opaque.bytes !== ''

/** Collects the tools of a group in the place of the first one. */
function toolsFor(tools: readonly Tool[], losses: Losses): object[] {
  const groups = new Map<string, object[]>()
  return tools.flatMap((tool): object[] => {
    losses.of(tool.cache, 'cache_control')
    const { namespace } = tool
    if (namespace === null) return [toolFor(tool)]
    const group = groups.get(namespace)
    if (group) {
      group.push(toolFor(tool))
      return []
    }
    const members = [toolFor(tool)]
    groups.set(namespace, members)
    return [{ type: 'namespace', name: namespace, description: '', tools: members }]
  })
}

function toolFor({ kind, name, description, schema, strict, grammar }: Tool): object {
  const described = description === null ? {} : { description }
  if (kind === 'custom')
    return { type: 'custom', name, ...described, ...(grammar === undefined ? {} : { format: flat(grammar) }) }
  const parameters = schema ?? { type: 'object', properties: {} }
  if (kind === 'search') return { type: 'tool_search', execution: 'client', ...described, parameters }
  // OpenAI's default is strict, but some schemas do not allow strict mode.
  return { type: 'function', name, ...described, parameters, strict: strict ?? false }
}

/** Moves the grammar's members up. Chat puts them in a separate object. */
const flat = (format: unknown): unknown =>
  isObject(format) && isObject(format.grammar) ? { type: 'grammar', ...format.grammar } : format

function choiceFor(choice: NonNullable<Conversation['choice']>, tools: readonly Tool[]): unknown {
  if (choice.type !== 'tool') return choice.type
  const { name, namespace } = choice
  const tool = tools.find((each) => each.name === name && each.namespace === namespace)
  return {
    type: tool?.kind === 'custom' ? 'custom' : 'function',
    name,
    ...(namespace === null ? {} : { namespace }),
  }
}
