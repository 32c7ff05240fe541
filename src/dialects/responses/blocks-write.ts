// Blocks -> a responses request. Shapes: OpenAI API reference, "Responses". Nothing is kept by the provider that the client did
// not ask to be kept, so reasoning is asked for in a form that can be sent back.
import type { Losses } from '../../losses.ts'
import {
  type Block,
  type CallBlock,
  type CallKind,
  type Conversation,
  type DocumentBlock,
  effortOfBudget,
  type ImageBlock,
  nearestEffort,
  type Peer,
  type ReasoningBlock,
  type ResultBlock,
  type Tool,
  type Turn,
  textOfBlocks,
  writeExtras,
} from '../blocks.ts'
import { isObject } from '../json.ts'
import { argumentsOf } from '../json-exact.ts'
import { idForProvider } from '../tool-ids.ts'
import { list, unsealed } from './blocks-items.ts'

const EXTRAS = new Set(
  'metadata service_tier store prompt_cache_key prompt_cache_retention safety_identifier top_logprobs verbosity truncation client_metadata context_management max_tool_calls'.split(
    ' ',
  ),
)

/** The least that OpenAI takes. */
const LEAST_OUTPUT = 16

export function writeRequest(
  {
    turns,
    tools,
    choice,
    parallel,
    maxTokens,
    stop,
    sampling,
    reasoning,
    format,
    user,
    extras,
  }: Conversation,
  peer: Peer,
  losses: Losses,
): Record<string, unknown> {
  const [first, ...others] = turns
  const isPrompt = first?.role === 'system' && first.blocks.every(({ type }) => type === 'text')
  const kinds = new Map<string, CallKind>()
  const body: Record<string, unknown> = {
    ...(isPrompt ? { instructions: textOfBlocks(first.blocks) } : {}),
    input: (isPrompt ? others : turns).flatMap((turn) => itemsFor(turn, kinds, peer, losses)),
    store: false,
  }
  for (const { blocks } of turns)
    for (const block of blocks) if ('cache' in block) losses.of(block.cache, 'cache_control')
  if (maxTokens !== null) body.max_output_tokens = Math.max(LEAST_OUTPUT, maxTokens)
  if (maxTokens !== null && maxTokens < LEAST_OUTPUT) losses.add('max_tokens')
  if (tools.length > 0) {
    body.tools = toolsFor(tools, losses)
    if (choice) body.tool_choice = choiceFor(choice, tools)
    if (parallel !== null) body.parallel_tool_calls = parallel
  }
  if (stop.length > 0) losses.add('stop')
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty } = sampling
  losses.of(topK, 'sampling.top_k')
  losses.of(seed, 'sampling.seed')
  losses.of(presencePenalty || null, 'sampling.penalties')
  losses.of(frequencyPenalty || null, 'sampling.penalties')
  if (temperature !== null) body.temperature = temperature
  if (topP !== null) body.top_p = topP
  writeReasoning(body, reasoning, turns, peer, losses)
  if (format?.type === 'json') body.text = { format: { type: 'json_object' } }
  if (format?.type === 'schema') {
    const { name, schema, strict } = format
    const named = { name: name ?? 'answer', schema, ...(strict === null ? {} : { strict }) }
    body.text = { format: { type: 'json_schema', ...named } }
  }
  if (user !== null) body.user = user
  writeExtras(extras, 'openai', EXTRAS, body, losses)
  if (body.verbosity !== undefined) {
    body.text = { ...(isObject(body.text) ? body.text : {}), verbosity: body.verbosity }
    delete body.verbosity
  }
  return body
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

function writeReasoning(
  body: Record<string, unknown>,
  { effort, budget, on }: Conversation['reasoning'],
  turns: readonly Turn[],
  { family, takesReasoning }: Peer,
  losses: Losses,
): void {
  if (!takesReasoning) {
    losses.of(effort ?? budget, 'effort')
    return
  }
  if (effort !== null) losses.of(budget, 'thinking.budget')
  else if (budget !== null && on !== false) losses.add('thinking.budget')
  const word =
    effort !== null
      ? nearestEffort(effort, EFFORTS, losses)
      : on === false
        ? 'none'
        : budget === null
          ? null
          : effortOfBudget(budget)
  if (word !== null || on === true)
    body.reasoning = { ...(word === null ? {} : { effort: word }), summary: 'auto' }
  const goesOn = turns.some(({ blocks }) => blocks.some((block) => isOwn(block, family)))
  // Models that do not reason refuse to be asked for it.
  if ((body.reasoning !== undefined && word !== 'none') || goesOn)
    body.include = ['reasoning.encrypted_content']
  if (word === 'none') body.reasoning = { effort: word }
}

const isOwn = (block: Block, family: string): boolean =>
  block.type === 'reasoning' && block.opaque?.family === family && block.opaque.bytes !== ''

/** `kinds`: of the calls so far, by their ids. Text that belongs together stays in one message. */
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

/** What stands beside messages, and is no part of one. */
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

function imageFor({ source, detail }: ImageBlock, losses: Losses): object[] {
  if (source.kind === 'file' || source.kind === 'text') {
    losses.add(source.kind === 'file' ? 'file' : 'image')
    return []
  }
  const image_url = source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
  return [{ type: 'input_image', image_url, detail: detail ?? 'auto' }]
}

function documentFor({ source, name }: DocumentBlock, losses: Losses): object[] {
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
      // A file needs a name here.
      return [{ type: 'input_file', filename: name ?? 'document.pdf', file_data }]
    }
    case 'file':
      losses.add('file')
      return []
  }
}

/** Without its seal, earlier reasoning is nothing that the provider knows. */
function reasoningFor({ text, opaque }: ReasoningBlock, peer: Peer, losses: Losses): object[] {
  const sealed = opaque?.family === peer.family && peer.takesReasoning ? unsealed(opaque.bytes) : null
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
    return { type: 'function_call', call_id, name, ...group, arguments: args === '' ? '{}' : args }
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

/** One text is a text, anything else a list of parts. */
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
    return list(JSON.parse(text))
  } catch {
    return []
  }
}

/** Tools of a group stand together, where the first of them stood. */
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
  // Where nothing is said, OpenAI would hold the tool to its schema, which not every schema allows.
  return { type: 'function', name, ...described, parameters, strict: strict ?? false }
}

/** Chat has the grammar in an object of its own. */
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
