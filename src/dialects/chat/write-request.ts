// Converts blocks to a chat request. Format: OpenAI API reference, "Chat".
import type { Losses } from '../../core/losses.ts'
import { parseExact } from '../../shared/exact-json.ts'
import { acceptedEffort, acceptedLimit, acceptedSampling, isOff, typedSource } from '../accepted.ts'
import {
  type Block,
  type CallBlock,
  type Conversation,
  type DocumentBlock,
  type ImageBlock,
  namedSchema,
  type Peer,
  type ResultBlock,
  type Sampling,
  type Tool,
  type Turn,
  textOfBlocks,
  writeExtras,
} from '../blocks.ts'
import { isObject, type Json } from '../json.ts'
import { looseFormat, looseTool } from '../json-schema.ts'
import { imageUrl } from '../openai.ts'
import { idForMistral, plainArguments } from '../tools.ts'
import { withPairedCalls } from '../turns.ts'

const EXTRAS = new Set(
  'metadata service_tier store prompt_cache_key prompt_cache_retention safety_identifier verbosity top_logprobs logit_bias'.split(
    ' ',
  ),
)

/** Returns true for OpenAI itself. Compatible servers have another name for the output limit. */
const isOpenAi = (host: string): boolean => /(^|\.)openai(\.azure)?\.com$/.test(host)

export function writeRequest(asked: Conversation, peer: Peer, losses: Losses): Record<string, unknown> {
  const { turns, tools, choice, parallel, stop, user, extras } = asked
  const { facts } = peer
  const body: Record<string, unknown> = { messages: messagesOf(turns, peer, losses) }
  const limit = facts.chat_limit ?? (isOpenAi(peer.host) ? 'max_completion_tokens' : 'max_tokens')
  if (asked.maxTokens !== null) body[limit] = acceptedLimit(asked.maxTokens, facts, losses)
  if (tools.length > 0) {
    body.tools = tools.map((tool) => toolFor(looseTool(tool, losses), losses))
    if (choice)
      body.tool_choice =
        choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type
    if (parallel !== null) body.parallel_tool_calls = parallel
  }
  // OpenAI accepts at most four stop sequences.
  if (stop.length > 0) body.stop = stop.slice(0, MAX_STOPS)
  if (stop.length > MAX_STOPS) losses.add('stop')
  losses.of(asked.sampling.topK, 'sampling.top_k')
  const effort = effortFor(asked, peer, losses)
  if (effort !== null) body.reasoning_effort = effort
  const thinks = effort === null ? facts.thinks_unasked === 'yes' : effort !== 'none'
  writeSampling(body, acceptedSampling(asked.sampling, facts, thinks, losses))
  const format = formatFor(looseFormat(asked.format, losses))
  if (format) body.response_format = format
  if (user !== null) body.user = user
  writeExtras(extras, 'openai', EXTRAS, body, losses)
  return body
}

const MAX_STOPS = 4

function writeSampling(body: Record<string, unknown>, sampling: Sampling): void {
  const { temperature, topP, seed, presencePenalty, frequencyPenalty } = sampling
  const said = {
    temperature,
    top_p: topP,
    seed,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
  }
  for (const [name, value] of Object.entries(said)) if (value !== null) body[name] = value
}

function formatFor(format: Conversation['format']): object | null {
  if (format?.type !== 'schema') return format && { type: 'json_object' }
  return { type: 'json_schema', json_schema: namedSchema(format) }
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

function effortFor({ reasoning, tools }: Conversation, peer: Peer, losses: Losses): string | null {
  const { facts } = peer
  const { effort, budget, on } = reasoning
  const wished = effort ?? budget
  if (tools.length > 0 && facts.chat_tools === 'effort_none') {
    if (!isOff(reasoning)) losses.of(wished, 'effort')
    return 'none'
  }
  if (wished === null && on === true) losses.add('effort')
  // Most servers have no setting that turns reasoning off.
  const words = on === false && effort === null ? [] : EFFORTS
  return acceptedEffort(reasoning, facts, words, losses)
}

function toolFor({ kind, name, description, schema, strict, cache, grammar }: Tool, losses: Losses): object {
  losses.of(cache, 'cache_control')
  const described = description === null ? { name } : { name, description }
  if (kind === 'custom')
    return { type: 'custom', custom: { ...described, ...(grammar === undefined ? {} : { format: grammar }) } }
  const parameters = schema ?? { type: 'object', properties: {} }
  return { type: 'function', function: { ...described, parameters, ...(strict === null ? {} : { strict }) } }
}

// Messages have the form that most servers accept: a lone text as a plain string, tool results as strings, images in a
// user's message.

function messagesOf(turns: readonly Turn[], peer: Peer, losses: Losses): object[] {
  const pairs = withPairedCalls(turns, losses)
  const said = isMistral(peer) ? pairs.map(withIdsForMistral) : pairs
  return oneByOne(said.flatMap((turn) => messagesFor(turn, peer, losses)))
}

/** Returns true for Mistral, and for its models at other hosts. All of them are strict about ids. */
const isMistral = ({ host, model }: Peer): boolean =>
  /(^|\.)mistral\.ai$/.test(host) || /[sx]tral/i.test(model)

const withIdsForMistral = ({ role, blocks }: Turn): Turn => ({
  role,
  blocks: blocks.map((block) =>
    block.type === 'call' || block.type === 'result' ? { ...block, id: idForMistral(block.id) } : block,
  ),
})

/** Merges successive instructions into one message. Many servers accept only one, at the start. */
function oneByOne(messages: readonly object[]): object[] {
  const out: { role?: string; content?: unknown }[] = []
  for (const message of messages as typeof out) {
    const last = out.at(-1)
    if (message.role === 'system' && last?.role === 'system')
      out[out.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` }
    else out.push(message)
  }
  return out
}

function messagesFor({ role, blocks }: Turn, peer: Peer, losses: Losses): object[] {
  for (const block of blocks) if ('cache' in block) losses.of(block.cache, 'cache_control')
  if (role === 'assistant') return [assistantFor(blocks, peer, losses)]
  if (role === 'user') return userFor(blocks, losses)
  if (role === 'developer') losses.add('role.developer')
  const content = partsFor(blocks, losses)
  return content.length > 0 ? [{ role: 'system', content: textOfBlocks(blocks) }] : []
}

function assistantFor(blocks: readonly Block[], { family, returnsReasoning }: Peer, losses: Losses): object {
  const message: Record<string, unknown> = { role: 'assistant' }
  const calls = blocks.filter((block): block is CallBlock => block.type === 'call')
  const firstCall = blocks.findIndex(({ type }) => type === 'call')
  if (firstCall >= 0 && blocks.slice(firstCall).some(({ type }) => type === 'text')) losses.add('order')
  const text = textOfBlocks(blocks)
  message.content = text === '' && calls.length > 0 ? null : text

  const thoughts: string[] = []
  const details: unknown[] = []
  for (const block of blocks) {
    if (block.type !== 'reasoning') {
      if (block.type === 'unknown') losses.add(block.loss)
      else if (block.type === 'image' || block.type === 'document') losses.add(block.type)
      else if (block.type === 'result') losses.add('unknown.block')
      continue
    }
    const { text: thought, opaque } = block
    if (thought !== '') thoughts.push(thought)
    if (!opaque || opaque.bytes === '') continue
    const detail = returnsReasoning && opaque.family === family ? detailOf(opaque.bytes, thought) : null
    if (detail) details.push(detail)
    else losses.add('thinking.signature')
  }
  if (details.length > 0) message.reasoning_details = details
  if (thoughts.length > 0 && returnsReasoning) message.reasoning_content = thoughts.join('\n\n')
  else if (thoughts.length > 0) losses.add('thinking.text')
  if (calls.length > 0) message.tool_calls = calls.map(callFor)
  return message
}

/** Returns the detail as the provider sent it, see `detailOf` of requests. Streams send its text separately. */
function detailOf(bytes: string, text: string): Json | null {
  try {
    const detail = parseExact(bytes)
    if (!isObject(detail)) return null
    return detail.type === 'reasoning.text' ? { ...detail, text } : detail
  } catch {
    return null // produced by the same family in another dialect
  }
}

export const callFor = ({ id, name, kind, args }: CallBlock): object =>
  kind === 'custom'
    ? { id, type: 'custom', custom: { name, input: args } }
    : { id, type: 'function', function: { name, arguments: plainArguments(args) } }

/** Tool results come first, as one message each. Images and files in them follow in a user's message. */
function userFor(blocks: readonly Block[], losses: Losses): object[] {
  const messages: object[] = []
  const moved: object[] = []
  let isBehind = false
  const rest: Block[] = []
  for (const block of blocks) {
    if (block.type !== 'result') {
      isBehind = true
      rest.push(block)
      continue
    }
    if (isBehind) losses.add('order')
    messages.push(resultFor(block, moved, losses))
  }
  const parts = [...moved, ...partsFor(rest, losses)]
  if (parts.length === 0) return messages
  const [only] = parts as { type: string; text?: string }[]
  const content = parts.length === 1 && only!.type === 'text' ? only!.text : parts
  return [...messages, { role: 'user', content }]
}

function resultFor({ id, blocks, error }: ResultBlock, moved: object[], losses: Losses): object {
  for (const block of blocks) if ('cache' in block) losses.of(block.cache, 'cache_control')
  const media = blocks.filter((block) => block.type === 'image' || block.type === 'document')
  const parts = partsFor(media, losses)
  if (media.length > 0) losses.add('tool_result.media')
  if (parts.length > 0) moved.push({ type: 'text', text: `Returned by the tool call ${id}:` }, ...parts)
  for (const block of blocks) if (block.type === 'unknown') losses.add(block.loss)
  if (error) losses.add('tool_result.error')
  const text = textOfBlocks(blocks)
  const said = text === '' && parts.length > 0 ? 'It is in the next message.' : text
  return { role: 'tool', tool_call_id: id, content: error ? `[error] ${said}` : said }
}

/** Returns the parts of a user's message, without those that cannot be written. */
function partsFor(blocks: readonly Block[], losses: Losses): object[] {
  return blocks.flatMap((block): object[] => {
    if (block.type === 'text') return block.text === '' ? [] : [{ type: 'text', text: block.text }]
    if (block.type === 'image') return imageFor(block, losses)
    if (block.type === 'document') return documentFor(block, losses)
    if (block.type === 'unknown' && block.dialect === 'chat') return [block.raw as object]
    losses.add(block.type === 'unknown' ? block.loss : 'unknown.block')
    return []
  })
}

function imageFor({ source: given, detail }: ImageBlock, losses: Losses): object[] {
  const url = imageUrl(given, losses)
  return url === null
    ? []
    : [{ type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) } }]
}

/** OpenAI's words for the formats of sound, by the rest of the media type. */
const AUDIO: Readonly<Record<string, string>> = {
  mpeg: 'mp3',
  'x-wav': 'wav',
  wave: 'wav',
  'vnd.wave': 'wav',
}

function documentFor({ source: given, name }: DocumentBlock, losses: Losses): object[] {
  const source = typedSource(given)
  switch (source.kind) {
    case 'text':
      losses.add('document')
      return [{ type: 'text', text: name === null ? source.text : `${name}\n\n${source.text}` }]
    case 'base64': {
      const [, audio] = /^audio\/(.*)$/.exec(source.mediaType) ?? []
      if (audio !== undefined)
        return [{ type: 'input_audio', input_audio: { data: source.data, format: AUDIO[audio] ?? audio } }]
      const file_data = `data:${source.mediaType};base64,${source.data}`
      // Chat requires a file name.
      return [{ type: 'file', file: { filename: name ?? 'document.pdf', file_data } }]
    }
    default:
      losses.add(source.kind === 'file' ? 'file' : 'document')
      return []
  }
}
