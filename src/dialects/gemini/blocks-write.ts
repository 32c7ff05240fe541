// Blocks -> a Gemini request. Shapes: Gemini API reference, "Generating content", "Function calling", "Thought signatures",
// "Thinking". Keeps what Google asks of a conversation: roles in turn, a name on every result, seals on the parts that they
// belong to.
import type { Losses } from '../../losses.ts'
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
  textOfBlocks,
  writeExtras,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { argumentsOf } from '../json-exact.ts'
import { NO_SIGNATURE, Signer } from './signatures.ts'

const EXTRAS = new Set(['safetySettings', 'labels', 'cachedContent', 'serviceTier'])
const MOST_STOPS = 5

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

/** Turns of one role become one; an instruction in mid-conversation becomes part of the user's. */
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

interface Writing {
  readonly peer: Peer
  /** Of the tools that were called, by the id of the call. */
  readonly names: ReadonlyMap<string, string>
  readonly losses: Losses
}

function partsFor(blocks: readonly Block[], writing: Writing): Json[] {
  const { peer, losses } = writing
  const signer = new Signer()
  const parts: Json[] = []
  for (const block of blocks) {
    if ('cache' in block) losses.of(block.cache, 'cache_control')
    if (block.type !== 'reasoning') {
      for (const part of partsOfBlock(block, writing)) parts.push(...signer.sign(part))
      continue
    }
    const { text, opaque } = block
    if (peer.takesReasoning && opaque?.family === peer.family) parts.push(...signer.seal(block))
    else {
      if (opaque && opaque.bytes !== '') losses.add('thinking.signature')
      if (text !== '') losses.add('thinking.text')
    }
  }
  return [...parts, ...signer.flush()]
}

function partsOfBlock(block: Exclude<Block, { type: 'reasoning' }>, writing: Writing): Json[] {
  const { losses } = writing
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ text: block.text }]
    case 'image':
    case 'document':
      return fileFor(block, losses)
    case 'call': {
      const args = argumentsOf(block.args)
      if (args === null) losses.add('tool.arguments')
      const { id, name } = block
      return [{ functionCall: { id, name, args: args ?? { input: block.args } } }]
    }
    case 'result':
      return resultFor(block, writing)
    case 'unknown':
      if (block.dialect === 'gemini') return [block.raw as Json]
      losses.add(block.loss)
      return []
  }
}

function fileFor(block: Extract<Block, { type: 'image' | 'document' }>, losses: Losses): Json[] {
  const { type, source } = block
  if (type === 'image') losses.of(block.detail, 'image.detail')
  if (source.kind === 'text') {
    losses.add(type)
    const name = type === 'document' ? block.name : null
    return [{ text: name === null ? source.text : `${name}\n\n${source.text}` }]
  }
  if (type === 'document') losses.of(block.name, 'document.title')
  return dataFor(source, losses)
}

function dataFor(source: Exclude<Source, { kind: 'text' }>, losses: Losses): Json[] {
  if (source.kind === 'base64') return [{ inlineData: { mimeType: source.mediaType, data: source.data } }]
  if (source.kind === 'url') {
    const mimeType = source.mediaType ? { mimeType: source.mediaType } : {}
    return [{ fileData: { ...mimeType, fileUri: source.url } }]
  }
  if (/^gs:|^https:\/\/generativelanguage\.googleapis\.com\//.test(source.id))
    return [{ fileData: { fileUri: source.id } }]
  losses.add('file')
  return []
}

/** Models since 3 refuse a turn whose first call has no signature; of another model's call none can be had. */
function withSignedCall(parts: readonly Json[], peer: Peer): Json[] {
  const first = isSince3(peer) ? parts.findIndex((part) => 'functionCall' in part) : -1
  return parts.map((part, n) => (n === first ? { thoughtSignature: NO_SIGNATURE, ...part } : part))
}

const isSince3 = ({ model }: Peer): boolean => /gemini-([3-9]|\d\d)/.test(model)

function resultFor({ id, blocks, error }: ResultBlock, writing: Writing): Json[] {
  const { peer, names, losses } = writing
  for (const block of blocks) if ('cache' in block) losses.of(block.cache, 'cache_control')
  const text = textOfBlocks(blocks)
  const media: Json[] = []
  for (const block of blocks) {
    if (block.type === 'image' || block.type === 'document') media.push(...fileFor(block, losses))
    else if (block.type === 'unknown') losses.add(block.loss)
    else if (block.type !== 'text') losses.add('unknown.block')
  }
  // Models since 3 take pictures and files inside of a result; before, they stand behind it.
  const isInside = media.length > 0 && isSince3(peer) && media.every((part) => 'inlineData' in part)
  if (media.length > 0 && !isInside) losses.add('tool_result.media')
  const response = error ? { error: text } : { output: text }
  const said = { id, name: names.get(id) ?? id, response, ...(isInside && { parts: media }) }
  return [{ functionResponse: said }, ...(isInside ? [] : media)]
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
    stopSequences: stop.length > 0 ? stop.slice(0, MOST_STOPS) : null,
    thinkingConfig: thinkingFor(reasoning, peer, losses),
  }
  if (stop.length > MOST_STOPS) losses.add('stop')
  const config: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(said)) if (value !== null) config[name] = value
  if (format) config.responseMimeType = 'application/json'
  if (format?.type === 'schema') {
    losses.of(format.name ?? format.strict, 'format.name')
    config.responseJsonSchema = format.schema
  }
  return config
}

/** The most that every model that thinks takes. */
const MOST_BUDGET = 24_576
const LEVELS = ['minimal', 'low', 'medium', 'high']

/** Models since 3 take a level, those before a number of tokens; 0 switches thinking off where that can be. */
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
  return { includeThoughts: true, ...(tokens !== null && { thinkingBudget: Math.min(tokens, MOST_BUDGET) }) }
}

function clamped(budget: number, losses: Losses): number {
  if (budget > MOST_BUDGET) losses.add('thinking.budget')
  return Math.min(budget, MOST_BUDGET)
}
