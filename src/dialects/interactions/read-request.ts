// Converts a request of the Interactions API to blocks. Format: Gemini API reference, "Interactions". Reports the losses
// that occur in every dialect. Never throws for an unknown format.
import type { Loss, Losses } from '../../core/losses.ts'
import {
  type Block,
  type Conversation,
  type Extra,
  extrasOf,
  type Format,
  NO_SAMPLING,
  type ReasoningBlock,
  type Source,
  type Tool,
  type ToolChoice,
  type Turn,
  unpackOpaque,
} from '../blocks.ts'
import { FAMILY } from '../gemini/read-request.ts'
import { isObject, type Json, listOrEmpty, member, numberOf, textOf } from '../json.ts'
import { isGoogleFile } from '../kept.ts'
import { originalId } from '../tools.ts'

const READ = new Set(
  'model input system_instruction tools generation_config response_format response_mime_type stream previous_interaction_id'.split(
    ' ',
  ),
)
const FIELDS: Readonly<Record<string, Loss>> = {
  safety_settings: 'safeguards',
  labels: 'metadata',
  cached_content: 'prompt_cache',
  service_tier: 'service_tier',
  store: 'store',
  webhook_config: 'store',
  response_modalities: 'modalities',
}
const CONFIG_READ = new Set(
  'max_output_tokens seed stop_sequences temperature top_p thinking_level thinking_summaries tool_choice'.split(
    ' ',
  ),
)
const CONFIG_FIELDS: Readonly<Record<string, Loss>> = {
  image_config: 'modalities',
  speech_config: 'modalities',
  video_config: 'modalities',
  transcription_config: 'modalities',
}

/** Types of content, in contrast to types of steps. */
const CONTENTS = new Set<unknown>(['text', 'image', 'audio', 'document', 'video'])

/** Returns an input as steps: it may be a text, a content, a list of contents, or a list of steps. */
export function stepsIn(input: unknown): Json[] {
  if (typeof input === 'string') return [userInput([{ type: 'text', text: input }])]
  const list = Array.isArray(input) ? input : isObject(input) ? [input] : []
  const steps: Json[] = []
  for (const each of list) {
    if (!isObject(each)) continue
    const isContent = CONTENTS.has(each.type)
    const last = steps.at(-1)
    if (isContent && last?.type === 'user_input') (last.content as unknown[]).push(each)
    else if (each.type === 'user_input') steps.push(userInput(contentsOf(each.content)))
    else steps.push(isContent ? userInput([each]) : each)
  }
  return steps
}

const userInput = (content: readonly unknown[]): Json => ({ type: 'user_input', content: [...content] })

/** Returns the contents of a step. One text or one content may stand for a list. */
const contentsOf = (content: unknown): readonly unknown[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : isObject(content)
      ? [content]
      : listOrEmpty(content)

export function parseRequest(body: Json, _request: unknown, losses: Losses): Conversation {
  const config = isObject(body.generation_config) ? body.generation_config : {}
  const turns: { role: Turn['role']; blocks: Block[] }[] = []
  if (textOf(body.system_instruction) !== '')
    turns.push({ role: 'system', blocks: [{ type: 'text', text: textOf(body.system_instruction) }] })
  for (const step of stepsIn(body.input)) {
    const isUsers = step.type === 'user_input' || step.type === 'function_result'
    const role = isUsers ? 'user' : 'assistant'
    const blocks = blocksOfStep(step, FAMILY, losses)
    const last = turns.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    else if (blocks.length > 0) turns.push({ role, blocks })
  }
  const level = config.thinking_level
  const shown = config.thinking_summaries === 'auto'
  return {
    turns,
    tools: listOrEmpty(body.tools).flatMap((tool) => toolOf(tool, losses)),
    choice: choiceOf(config.tool_choice, losses),
    parallel: null,
    maxTokens: numberOf(config.max_output_tokens),
    stop: listOrEmpty(config.stop_sequences).filter((each) => typeof each === 'string'),
    sampling: {
      ...NO_SAMPLING,
      temperature: numberOf(config.temperature),
      topP: numberOf(config.top_p),
      seed: numberOf(config.seed),
    },
    reasoning: {
      effort: typeof level === 'string' ? level : null,
      budget: null,
      on: typeof level === 'string' || shown ? true : null,
    },
    format: formatOf(body, losses),
    user: null,
    extras: [
      ...extrasOf(body, 'google', READ, FIELDS).filter(isSaying),
      ...extrasOf(config, 'google', CONFIG_READ, CONFIG_FIELDS),
    ],
  }
}

/** Returns false for a setting without effect. Omitting it is no loss. */
const isSaying = ({ name, value }: Extra): boolean =>
  !(['store', 'background'].includes(name) && value === false) &&
  !(name === 'response_modalities' && listOrEmpty(value).every((each) => each === 'text'))

/** Converts a step to blocks, for a request or an answer. `family`: the family that made its thoughts. */
export function blocksOfStep(step: Json, family: string, losses: Losses): Block[] {
  switch (step.type) {
    case 'user_input':
    case 'model_output':
      return contentsOf(step.content).map((content) => contentBlock(content, losses))
    case 'thought': {
      const thought = thoughtOf(step, family)
      return thought ? [thought] : []
    }
    case 'function_call':
      return [
        {
          ...{ type: 'call', id: originalId(textOf(step.id)), name: textOf(step.name), namespace: null },
          kind: 'function',
          args: isObject(step.arguments) ? JSON.stringify(step.arguments) : textOf(step.arguments),
        },
      ]
    case 'function_result':
      return [
        {
          ...{ type: 'result', id: originalId(textOf(step.call_id)), error: step.is_error === true },
          blocks: resultBlocks(step.result, losses),
        },
      ]
    default:
      return [unknown(step, /_(call|result)$/.test(textOf(step.type)) ? 'tool.server' : 'unknown.block')]
  }
}

const unknown = (raw: unknown, loss: Loss): Block => ({ type: 'unknown', dialect: 'interactions', raw, loss })

/** Returns a thought; null if it has neither a text nor a signature. */
export function thoughtOf({ summary, signature }: Json, family: string): ReasoningBlock | null {
  const text = contentsOf(summary)
    .map((part) => textOf(member(part, 'text')))
    .join('\n\n')
  const seal = textOf(signature)
  if (text === '' && seal === '') return null
  return { type: 'reasoning', text, opaque: unpackOpaque(seal) ?? { family, bytes: seal } }
}

export function contentBlock(content: unknown, losses: Losses): Block {
  const { type, text, data, uri, mime_type, resolution, annotations } = isObject(content) ? content : {}
  losses.of(listOrEmpty(annotations)[0], 'citations')
  losses.of(resolution, 'image.detail')
  if (type === 'text') return { type: 'text', text: textOf(text) }
  const mediaType = textOf(mime_type)
  const source = sourceOf(textOf(data), textOf(uri), mediaType)
  if (type === 'image') return { type: 'image', source }
  if (type === 'document' || type === 'audio' || type === 'video')
    return { type: 'document', source, name: null }
  return unknown(content, 'unknown.block')
}

function sourceOf(data: string, uri: string, mediaType: string): Source {
  if (data !== '') return { kind: 'base64', mediaType, data }
  // Only Google can read a file that it stores.
  if (isGoogleFile(uri) || uri.startsWith('gs:')) return { kind: 'file', id: uri }
  return { kind: 'url', url: uri, ...(mediaType && { mediaType }) }
}

function resultBlocks(result: unknown, losses: Losses): Block[] {
  if (typeof result === 'string') return result === '' ? [] : [{ type: 'text', text: result }]
  if (Array.isArray(result)) return result.map((content) => contentBlock(content, losses))
  return result == null ? [] : [{ type: 'text', text: JSON.stringify(result) }]
}

/** Losses of the tools that are no functions. */
const TOOLS: Readonly<Record<string, Loss>> = {
  computer_use: 'tool.builtin',
  mcp_server: 'mcp_servers',
  ...Object.fromEntries(
    'code_execution file_search google_maps google_search retrieval url_context'
      .split(' ')
      .map((type) => [type, 'tool.server'] as const),
  ),
}

function toolOf(tool: unknown, losses: Losses): Tool[] {
  const { type, name, description, parameters } = isObject(tool) ? tool : {}
  if (type !== 'function') {
    losses.add(TOOLS[textOf(type)] ?? 'unknown.tool')
    return []
  }
  return [
    {
      ...{ kind: 'function', name: textOf(name), namespace: null, strict: null },
      description: typeof description === 'string' ? description : null,
      schema: isObject(parameters) ? parameters : { type: 'object', properties: {} },
    },
  ]
}

function choiceOf(choice: unknown, losses: Losses): ToolChoice | null {
  const allowed = member(choice, 'allowed_tools')
  const names = listOrEmpty(member(allowed, 'tools'))
  const mode = isObject(allowed) ? (member(allowed, 'mode') ?? 'auto') : choice
  if (mode === 'any' && names.length === 1) return { type: 'tool', name: textOf(names[0]), namespace: null }
  losses.of(names[0], 'tool_choice')
  if (mode === 'any') return { type: 'required' }
  if (mode === 'none') return { type: 'none' }
  return mode === 'auto' || mode === 'validated' ? { type: 'auto' } : null
}

/** Reads the format of the text. Google also accepts a list of formats, one for each modality. */
function formatOf({ response_format: given, response_mime_type }: Json, losses: Losses): Format | null {
  const formats = Array.isArray(given) ? given : given == null ? [] : [given]
  let format: Format | null = response_mime_type === 'application/json' ? { type: 'json' } : null
  for (const each of formats) {
    const { type, mime_type, schema } = isObject(each) ? each : {}
    if (type === 'text' || type === undefined) {
      if (isObject(schema)) format = { type: 'schema', name: null, schema, strict: null }
      else if (mime_type === 'application/json') format = { type: 'json' }
    } else if (type === 'audio' || type === 'image' || type === 'video') losses.add('modalities')
    // A bare schema is the older form.
    else format = { type: 'schema', name: null, schema: each as Json, strict: null }
  }
  return format
}
