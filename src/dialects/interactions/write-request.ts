// Converts blocks to a request of the Interactions API. Format: Gemini API reference, "Interactions". The provider
// stores nothing unless the client asked for storage.
import type { Losses } from '../../core/losses.ts'
import { type Replacement, spliceMembers } from '../../json/splice.ts'
import { schemaSubset } from '../../models/requests.ts'
import {
  acceptedEffort,
  acceptedLimit,
  acceptedSampling,
  isAcceptedImage,
  isOff,
  typedSource,
} from '../accepted.ts'
import {
  type Block,
  type Conversation,
  type Peer,
  type Source,
  type Tool,
  textOfBlocks,
  withoutSeedAndPenalties,
  writeExtras,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { schemaWithin } from '../json-schema.ts'
import { hasScheme } from '../kept.ts'
import { atMost, inside, levelFor, type Tune } from '../optional-members.ts'
import { argumentsOf } from '../tools.ts'
import { withPairedCalls } from '../turns.ts'

const EXTRAS = new Set(['safety_settings', 'labels', 'cached_content', 'service_tier', 'store'])
const MAX_STOPS = 5
/** Thinking levels in this dialect. A model may accept fewer. */
const LEVELS = ['minimal', 'low', 'medium', 'high', 'xhigh']

export function writeRequest(
  conversation: Conversation,
  peer: Peer,
  losses: Losses,
): Record<string, unknown> {
  const { tools, parallel, user, extras } = conversation
  const turns = withPairedCalls(conversation.turns, losses)
  const begin = turns.findIndex(({ role }) => role === 'user' || role === 'assistant')
  const [before, after] = begin < 0 ? [turns, []] : [turns.slice(0, begin), turns.slice(begin)]
  if (turns.some(({ role }) => role === 'developer')) losses.add('role.developer')
  if (after.some(({ role }) => role === 'system' || role === 'developer')) losses.add('system.place')
  const names = new Map(
    turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === 'call' ? [[block.id, block.name] as const] : [])),
    ),
  )
  const writing = { peer, names, losses }
  const input = after.flatMap(({ role, blocks }) =>
    stepsFor(role === 'assistant' ? 'model_output' : 'user_input', blocks, writing),
  )
  const system = systemText(
    before.flatMap(({ blocks }) => blocks),
    losses,
  )
  // Google requires an input, so that an instruction alone becomes the user's.
  const isAlone = system !== '' && input.length === 0
  if (isAlone) losses.add('system.place')
  const body: Record<string, unknown> = {
    input: isAlone ? [{ type: 'user_input', content: [{ type: 'text', text: system }] }] : input,
    store: false,
  }
  if (system !== '' && !isAlone) body.system_instruction = system
  if (tools.length > 0) body.tools = tools.map((tool) => toolFor(tool, losses))
  if (parallel === false && tools.length > 0) losses.add('tool_choice')
  const config = configFor(conversation, peer, losses)
  if (Object.keys(config).length > 0) body.generation_config = config
  const format = formatFor(conversation.format, losses)
  if (format) body.response_format = format
  losses.of(user, 'safety_identifier')
  writeExtras(extras, 'google', EXTRAS, body, losses)
  return body
}

function systemText(blocks: readonly Block[], losses: Losses): string {
  for (const block of blocks) {
    if ('cache' in block) losses.of(block.cache, 'cache_control')
    if (block.type !== 'text')
      losses.add(block.type === 'image' || block.type === 'document' ? block.type : 'unknown.block')
  }
  return textOfBlocks(blocks)
}

interface StepWriting {
  readonly peer: Peer
  /** Names of the called tools, by the id of the call. */
  readonly names: ReadonlyMap<string, string>
  readonly losses: Losses
}

/** Returns the steps of a turn. Successive contents share a step. */
function stepsFor(
  type: 'user_input' | 'model_output',
  blocks: readonly Block[],
  writing: StepWriting,
): Json[] {
  const { peer, names, losses } = writing
  const steps: Json[] = []
  const add = (contents: readonly Json[], to: string = type) => {
    if (contents.length === 0) return
    const last = steps.at(-1)
    if (last?.type === to) (last.content as Json[]).push(...contents)
    else steps.push({ type: to, content: [...contents] })
  }
  for (const block of blocks) {
    if ('cache' in block) losses.of(block.cache, 'cache_control')
    switch (block.type) {
      case 'text':
        add(block.text === '' ? [] : [{ type: 'text', text: block.text }])
        break
      case 'image':
      case 'document':
        add(fileFor(block, losses))
        break
      case 'reasoning': {
        const { text, opaque } = block
        if (peer.returnsReasoning && opaque?.family === peer.family && opaque.bytes !== '')
          steps.push({
            type: 'thought',
            signature: opaque.bytes,
            ...(text && { summary: [{ type: 'text', text }] }),
          })
        else {
          if (opaque && opaque.bytes !== '') losses.add('thinking.signature')
          if (text !== '') losses.add('thinking.text')
        }
        break
      }
      case 'call': {
        const args = argumentsOf(block.args)
        if (args === null) losses.add('tool.arguments')
        steps.push({
          type: 'function_call',
          id: block.id,
          name: block.name,
          arguments: args ?? { input: block.args },
        })
        break
      }
      case 'result': {
        const { id, error } = block
        const name = names.get(id)
        const result = resultFor(block.blocks, losses)
        steps.push({
          type: 'function_result',
          call_id: id,
          ...(name && { name }),
          result,
          ...(error && { is_error: true }),
        })
        break
      }
      case 'unknown':
        if (block.dialect !== 'interactions') losses.add(block.loss)
        else if (block.loss === 'tool.server') steps.push(block.raw as Json)
        else add([block.raw as Json])
    }
  }
  return steps
}

/** Returns a result as a text, or as a list if it has images or files. */
function resultFor(blocks: readonly Block[], losses: Losses): string | Json[] {
  const contents: Json[] = []
  for (const block of blocks) {
    if ('cache' in block) losses.of(block.cache, 'cache_control')
    if (block.type === 'text') contents.push({ type: 'text', text: block.text })
    else if (block.type === 'image' || block.type === 'document') contents.push(...fileFor(block, losses))
    else losses.add(block.type === 'unknown' ? block.loss : 'unknown.block')
  }
  return contents.every(({ type }) => type === 'text') ? textOfBlocks(blocks) : contents
}

function fileFor(block: Extract<Block, { type: 'image' | 'document' }>, losses: Losses): Json[] {
  const source = typedSource(block.source)
  if (block.type === 'image' && !isAcceptedImage('gemini', source)) {
    losses.add('image')
    return []
  }
  if (block.type === 'image') losses.of(block.detail, 'image.detail')
  if (source.kind === 'text') {
    losses.add(block.type)
    const name = block.type === 'document' ? block.name : null
    return [{ type: 'text', text: name === null ? source.text : `${name}\n\n${source.text}` }]
  }
  if (block.type === 'document') losses.of(block.name, 'document.title')
  const data = dataOf(source)
  if (data === null) losses.add('file')
  const mediaType = 'mediaType' in source ? source.mediaType : undefined
  const [kind = ''] = mediaType?.split('/') ?? []
  const type = block.type === 'image' ? 'image' : kind === 'audio' || kind === 'video' ? kind : 'document'
  return data === null ? [] : [{ type, ...data, ...(mediaType && { mime_type: mediaType }) }]
}

function dataOf(source: Exclude<Source, { kind: 'text' }>): Json | null {
  if (source.kind === 'base64') return { data: source.data }
  if (source.kind === 'url') return hasScheme(source.url) ? { uri: source.url } : null
  return /^gs:|^https:\/\/generativelanguage\.googleapis\.com\//.test(source.id) ? { uri: source.id } : null
}

function toolFor({ name, description, schema, strict, cache, grammar }: Tool, losses: Losses): Json {
  losses.of(cache, 'cache_control')
  losses.of(strict || null, 'tool.options')
  losses.of(grammar, 'tool.custom.grammar')
  return {
    ...{ type: 'function', name },
    ...(description !== null && { description }),
    ...(schema !== null && { parameters: schema }),
  }
}

function configFor(
  { maxTokens, stop, sampling, reasoning, choice, tools }: Conversation,
  peer: Peer,
  losses: Losses,
) {
  const { facts } = peer
  const accepted = acceptedSampling(sampling, facts, !isOff(reasoning), losses)
  if (accepted.topK !== null) losses.add('sampling.top_k')
  withoutSeedAndPenalties({ ...accepted, seed: null }, losses)
  const config: Record<string, unknown> = {
    max_output_tokens: acceptedLimit(maxTokens, facts, losses),
    temperature: accepted.temperature,
    top_p: accepted.topP,
    seed: accepted.seed,
    stop_sequences: stop.length > 0 ? stop.slice(0, MAX_STOPS) : null,
    tool_choice: tools.length > 0 ? choiceFor(choice) : null,
    ...thinkingFor(reasoning, peer, losses),
  }
  if (stop.length > MAX_STOPS) losses.add('stop')
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== null))
}

function choiceFor(choice: Conversation['choice']): unknown {
  if (choice === null) return null
  if (choice.type === 'tool') return { allowed_tools: { mode: 'any', tools: [choice.name] } }
  return { auto: 'auto', none: 'none', required: 'any' }[choice.type]
}

/** Requests thinking by level. No level switches it off, so the lowest one stands for off. */
function thinkingFor(wish: Conversation['reasoning'], { facts }: Peer, losses: Losses): Json {
  const { effort, budget, on } = wish
  if (effort === null && budget === null && on === null) return {}
  const level = acceptedEffort(wish, facts, LEVELS, losses)
  return {
    ...(level !== null && { thinking_level: level }),
    ...(!isOff(wish) && { thinking_summaries: 'auto' }),
  }
}

function formatFor(format: Conversation['format'], losses: Losses): Json | null {
  if (format === null) return null
  const json = { type: 'text', mime_type: 'application/json' }
  if (format.type === 'json') return json
  losses.of(format.name ?? format.strict, 'format.name')
  return { ...json, schema: schemaWithin(format.schema, schemaSubset('gemini'), losses) }
}

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const values: Record<string, Replacement> = {}
  if (maxOutput !== null) values.max_output_tokens = atMost(maxOutput)
  const level = effort === null ? null : levelFor(effort, factsOf('interactions'), LEVELS)
  if (level !== null) values.thinking_level = JSON.stringify(level)
  return Object.keys(values).length > 0 ? spliceMembers(body, { generation_config: inside(values) }) : body
}
