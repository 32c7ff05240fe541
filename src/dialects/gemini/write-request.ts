// Converts blocks to a Gemini request. Format: Gemini API reference, "Generating content", "Function
// calling", "Thought signatures", "Thinking". Follows Google's rules for a conversation: alternating roles, a
// name on every result, and signatures on their own parts.
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
  budgetOfEffort,
  type Conversation,
  type Peer,
  type ResultBlock,
  type Source,
  type Tool,
  type Turn,
  textOfBlocks,
  writeExtras,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { schemaWithin } from '../json-schema.ts'
import { hasScheme } from '../kept.ts'
import { atMost, inside, levelFor, type Tune } from '../optional-members.ts'
import { argumentsOf } from '../tools.ts'
import { beginningWithUser, withPairedCalls } from '../turns.ts'
import { NO_SIGNATURE, Signer } from './signatures.ts'

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

interface PartWriting {
  readonly peer: Peer
  /** Names of the called tools, by the id of the call. */
  readonly names: ReadonlyMap<string, string>
  readonly losses: Losses
}

function partsFor(blocks: readonly Block[], writing: PartWriting): Json[] {
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
    if (peer.returnsReasoning && opaque?.family === peer.family) parts.push(...signer.seal(block))
    else {
      if (opaque && opaque.bytes !== '') losses.add('thinking.signature')
      if (text !== '') losses.add('thinking.text')
    }
  }
  return [...parts, ...signer.flush()]
}

function partsOfBlock(block: Exclude<Block, { type: 'reasoning' }>, writing: PartWriting): Json[] {
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
  const { type } = block
  const source = typedSource(block.source)
  if (type === 'image' && !isAcceptedImage('gemini', source)) {
    losses.add('image')
    return []
  }
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
  if (source.kind === 'url' && hasScheme(source.url)) {
    const mimeType = source.mediaType ? { mimeType: source.mediaType } : {}
    return [{ fileData: { ...mimeType, fileUri: source.url } }]
  }
  if (source.kind === 'file' && /^gs:|^https:\/\/generativelanguage\.googleapis\.com\//.test(source.id))
    return [{ fileData: { fileUri: source.id } }]
  losses.add('file')
  return []
}

/** Some models refuse a turn if its first call has no signature. A call from another model has no signature. */
function withSignedCall(parts: readonly Json[], peer: Peer): Json[] {
  const first = peer.facts.signatures === 'calls' ? parts.findIndex((part) => 'functionCall' in part) : -1
  return parts.map((part, n) => (n === first ? { thoughtSignature: NO_SIGNATURE, ...part } : part))
}

function resultFor({ id, blocks, error }: ResultBlock, writing: PartWriting): Json[] {
  const { peer, names, losses } = writing
  for (const block of blocks) if ('cache' in block) losses.of(block.cache, 'cache_control')
  const text = textOfBlocks(blocks)
  const media: Json[] = []
  for (const block of blocks) {
    if (block.type === 'image' || block.type === 'document') media.push(...fileFor(block, losses))
    else if (block.type === 'unknown') losses.add(block.loss)
    else if (block.type !== 'text') losses.add('unknown.block')
  }
  // Images and files follow a result that cannot hold them.
  const isInside =
    media.length > 0 && peer.facts.result_media === 'yes' && media.every((part) => 'inlineData' in part)
  if (media.length > 0 && !isInside) losses.add('tool_result.media')
  const response = error ? { error: text } : { output: text }
  const said = { id, name: names.get(id) ?? id, response, ...(isInside && { parts: media }) }
  return [{ functionResponse: said }, ...(isInside ? [] : media)]
}

/** Minimum and maximum thinking budget that every thinking model accepts, in tokens. */
const BUDGET_TOKENS = [1, 24_576] as const
/** Thinking levels in Gemini's dialect. A model may accept fewer. */
const LEVELS = ['minimal', 'low', 'medium', 'high']

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const facts = factsOf('gemini')
  const values: Record<string, Replacement> = {}
  if (maxOutput !== null) values.maxOutputTokens = atMost(maxOutput)
  const { thinking = ['budget', 'off'], budget: range = BUDGET_TOKENS } = facts
  const level = effort !== null && thinking.includes('level') ? levelFor(effort, facts, LEVELS) : null
  const tokens = effort === 'none' && thinking.includes('off') ? 0 : effort && budgetOfEffort(effort)
  if (level !== null) values.thinkingConfig = inside({ thinkingLevel: JSON.stringify(level) })
  else if (typeof tokens === 'number') {
    const budget = tokens === 0 ? 0 : Math.max(range[0], Math.min(tokens, range[1]))
    values.thinkingConfig = inside({ thinkingBudget: String(budget) })
  }
  return Object.keys(values).length > 0 ? spliceMembers(body, { generationConfig: inside(values) }) : body
}
