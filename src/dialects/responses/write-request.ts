// Converts blocks to a Responses request. Format: OpenAI API reference, "Responses". The provider stores
// nothing unless the client asked for storage. Reasoning is therefore requested in encrypted form, to be sent
// back.
import type { Losses } from '../../core/losses.ts'
import { parseExact } from '../../shared/exact-json.ts'
import { acceptedEffort, acceptedLimit, acceptedSampling, typedSource } from '../accepted.ts'
import {
  type Block,
  type CallBlock,
  type CallKind,
  type Conversation,
  type DocumentBlock,
  type ImageBlock,
  namedSchema,
  type Peer,
  type ReasoningBlock,
  type ResultBlock,
  type Tool,
  type Turn,
  textOfBlocks,
  withoutSeedAndPenalties,
  writeExtras,
} from '../blocks.ts'
import { isObject, listOrEmpty } from '../json.ts'
import { looseFormat, looseTool } from '../json-schema.ts'
import { imageUrl } from '../openai.ts'
import { argumentsOf, idForProvider, plainArguments } from '../tools.ts'
import { withPairedCalls } from '../turns.ts'
import { unsealed } from './read-request.ts'

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

/** Converts a turn. `kinds`: kinds of all earlier calls, by id. Adjacent texts stay in one message. */
function itemsFor(
  { role, blocks }: Turn,
  kinds: Map<string, CallKind>,
  peer: Peer,
  losses: Losses,
): object[] {
  const items: object[] = []
  let parts: object[] = []
  const flush = () => {
    if (parts.length > 0) items.push({ type: 'message', role, content: parts })
    parts = []
  }
  for (const block of blocks) {
    if (block.type === 'call' || block.type === 'result' || block.type === 'reasoning') {
      flush()
      if (block.type === 'call') {
        kinds.set(block.id, block.kind)
        items.push(callFor(block, losses))
      } else if (block.type === 'result') items.push(resultFor(block, kinds.get(block.id), losses))
      else items.push(...reasoningFor(block, peer, losses))
    } else if (block.type === 'unknown' && block.dialect === 'responses' && isItem(block.raw)) {
      flush()
      items.push(block.raw)
    } else if (role === 'assistant') parts.push(...saidFor(block, losses))
    else parts.push(...partFor(block, losses))
  }
  flush()
  return items
}

/** Returns true for content that is a separate item between messages. */
const isItem = (raw: unknown): raw is object =>
  isObject(raw) && typeof raw.type === 'string' && !/^(input|output)_|^text$|^refusal$/.test(raw.type)

function saidFor(block: Block, losses: Losses): object[] {
  if (block.type === 'text')
    return block.text === '' ? [] : [{ type: 'output_text', text: block.text, annotations: [] }]
  losses.add(block.type === 'unknown' ? block.loss : block.type === 'image' ? 'image' : 'document')
  return []
}

function partFor(block: Block, losses: Losses): object[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'input_text', text: block.text }]
    case 'image':
      return imageFor(block, losses)
    case 'document':
      return documentFor(block, losses)
    case 'unknown':
      if (block.dialect === 'responses') return [block.raw as object]
      losses.add(block.loss)
      return []
    default:
      losses.add('unknown.block')
      return []
  }
}

function imageFor({ source: given, detail }: ImageBlock, losses: Losses): object[] {
  const image_url = imageUrl(given, losses)
  return image_url === null ? [] : [{ type: 'input_image', image_url, detail: detail ?? 'auto' }]
}

function documentFor({ source: given, name }: DocumentBlock, losses: Losses): object[] {
  const source = typedSource(given)
  switch (source.kind) {
    case 'text':
      losses.add('document')
      return [{ type: 'input_text', text: name === null ? source.text : `${name}\n\n${source.text}` }]
    case 'url':
      if (name !== null) losses.add('document.title')
      return [{ type: 'input_file', file_url: source.url }]
    case 'base64': {
      if (source.mediaType.startsWith('audio/')) {
        losses.add('audio')
        return []
      }
      const file_data = `data:${source.mediaType};base64,${source.data}`
      // Responses requires a file name.
      return [{ type: 'input_file', filename: name ?? 'document.pdf', file_data }]
    }
    case 'file':
      losses.add('file')
      return []
  }
}

/** Converts earlier reasoning. Providers refuse reasoning without its encrypted data. */
function reasoningFor({ text, opaque }: ReasoningBlock, peer: Peer, losses: Losses): object[] {
  const sealed = opaque?.family === peer.family && peer.returnsReasoning ? unsealed(opaque.bytes) : null
  if (sealed)
    return [{ type: 'reasoning', summary: text === '' ? [] : [{ type: 'summary_text', text }], ...sealed }]
  if (opaque && opaque.bytes !== '') losses.add('thinking.signature')
  if (text !== '') losses.add('thinking.text')
  return []
}

function callFor({ id, name, namespace, kind, args }: CallBlock, losses: Losses): object {
  const call_id = idForProvider(id)
  const group = namespace === null ? {} : { namespace }
  if (kind === 'custom') return { type: 'custom_tool_call', call_id, name, ...group, input: args }
  if (kind === 'function')
    return { type: 'function_call', call_id, name, ...group, arguments: plainArguments(args) }
  const json = argumentsOf(args)
  if (json === null) losses.add('tool.arguments')
  return {
    type: 'tool_search_call',
    call_id,
    execution: 'client',
    status: 'completed',
    arguments: json ?? {},
  }
}

/** Converts a result. A single text stays a string; all other content becomes a list of parts. */
function resultFor(block: ResultBlock, kind: CallKind = 'function', losses: Losses): object {
  const { id, blocks, error } = block
  const call_id = idForProvider(id)
  for (const each of blocks) if ('cache' in each) losses.of(each.cache, 'cache_control')
  if (kind === 'search')
    return {
      type: 'tool_search_output',
      call_id,
      execution: 'client',
      status: 'completed',
      tools: toolsIn(textOfBlocks(blocks)),
    }
  if (error) losses.add('tool_result.error')
  const type = kind === 'custom' ? 'custom_tool_call_output' : 'function_call_output'
  const marked: readonly Block[] = error ? [{ type: 'text', text: '[error] ' }, ...blocks] : blocks
  const parts = marked.flatMap((each) => partFor(each, losses))
  const isText = blocks.length <= 1 && marked.every((each) => each.type === 'text')
  return { type, call_id, output: isText ? textOfBlocks(marked, '') : parts }
}

function toolsIn(text: string): readonly unknown[] {
  try {
    return listOrEmpty(parseExact(text))
  } catch {
    return []
  }
}
