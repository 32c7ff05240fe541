// Converts a chat request to blocks. Format: OpenAI API reference, "Chat"; reasoning as DeepSeek, Groq and
// OpenRouter send it. Reports the losses that occur in every dialect. Never throws for an unknown format.
import type { Loss, Losses } from '../../core/losses.ts'
import {
  type Block,
  type Conversation,
  extrasOf,
  type Source,
  sourceOf,
  type Tool,
  type ToolChoice,
  type Turn,
  unpackOpaque,
} from '../blocks.ts'
import { isObject, type Json, listOrEmpty, member, numberOf, textOf } from '../json.ts'
import { formatIn } from '../openai.ts'
import { originalId } from '../tools.ts'

const READ = new Set(
  'model stream stream_options messages max_tokens max_completion_tokens temperature top_p top_k stop seed presence_penalty frequency_penalty tools functions tool_choice function_call parallel_tool_calls reasoning_effort reasoning response_format user n'.split(
    ' ',
  ),
)
const FIELDS: Readonly<Record<string, Loss>> = {
  metadata: 'metadata',
  service_tier: 'service_tier',
  store: 'store',
  prompt_cache_key: 'prompt_cache',
  prompt_cache_retention: 'prompt_cache',
  safety_identifier: 'safety_identifier',
  logprobs: 'logprobs',
  top_logprobs: 'logprobs',
  logit_bias: 'sampling.penalties',
  repetition_penalty: 'sampling.penalties',
  min_p: 'sampling.top_k',
  prediction: 'prediction',
  modalities: 'modalities',
  audio: 'modalities',
  verbosity: 'verbosity',
  web_search_options: 'tool.server',
  plugins: 'tool.server',
  provider: 'service_tier',
  models: 'service_tier',
}

export function parseRequest(json: Json, _request: unknown, losses: Losses): Conversation {
  const { messages, tools, functions, reasoning } = json
  if (typeof json.n === 'number' && json.n > 1) losses.add('n')
  const effort = json.reasoning_effort ?? member(reasoning, 'effort')
  const on = member(reasoning, 'enabled')
  return {
    turns: listOrEmpty(messages).flatMap((message) => (isObject(message) ? [turnOf(message, losses)] : [])),
    tools: [
      ...listOrEmpty(tools),
      ...listOrEmpty(functions).map((each) => ({ type: 'function', function: each })),
    ].flatMap((tool) => toolOf(tool, losses)),
    choice: choiceOf(json.tool_choice ?? json.function_call, losses),
    parallel: typeof json.parallel_tool_calls === 'boolean' ? json.parallel_tool_calls : null,
    maxTokens: numberOf(json.max_completion_tokens) ?? numberOf(json.max_tokens),
    stop: (typeof json.stop === 'string' ? [json.stop] : listOrEmpty(json.stop)).filter(
      (each) => typeof each === 'string',
    ),
    sampling: {
      temperature: numberOf(json.temperature),
      topP: numberOf(json.top_p),
      topK: numberOf(json.top_k),
      seed: numberOf(json.seed),
      presencePenalty: numberOf(json.presence_penalty),
      frequencyPenalty: numberOf(json.frequency_penalty),
    },
    reasoning: {
      effort: typeof effort === 'string' ? effort : null,
      budget: numberOf(member(reasoning, 'max_tokens')),
      on: typeof on === 'boolean' ? on : null,
    },
    format: formatIn(json.response_format, member(json.response_format, 'json_schema'), losses),
    user: typeof json.user === 'string' ? json.user : null,
    extras: extrasOf(json, 'openai', READ, FIELDS),
  }
}

function turnOf(message: Json, losses: Losses): Turn {
  const { role, content, tool_call_id: callId } = message
  losses.of(role === 'function' ? null : message.name, 'name')
  if (role === 'tool' || role === 'function') {
    const id = originalId(textOf(callId ?? message.name))
    return { role: 'user', blocks: [{ type: 'result', id, blocks: partsOf(content, losses), error: false }] }
  }
  if (role === 'assistant') return { role, blocks: answerBlocks(message, losses) }
  return {
    role: role === 'system' || role === 'developer' ? role : 'user',
    blocks: partsOf(content, losses),
  }
}

function toolOf(tool: unknown, losses: Losses): Tool[] {
  const { type, function: made, custom, cache_control: cache } = isObject(tool) ? tool : {}
  const hint = cache == null ? {} : { cache }
  const described = (each: Json) => (typeof each.description === 'string' ? each.description : null)
  if (isObject(made)) {
    const { name, parameters: schema, strict } = made
    return [
      {
        kind: 'function',
        name: textOf(name),
        namespace: null,
        description: described(made),
        schema: isObject(schema) ? schema : {},
        strict: typeof strict === 'boolean' ? strict : null,
        ...hint,
      },
    ]
  }
  if (isObject(custom)) {
    const { name, format } = custom
    const grammar = format == null || member(format, 'type') === 'text' ? {} : { grammar: format }
    return [
      {
        kind: 'custom',
        name: textOf(name),
        namespace: null,
        description: described(custom),
        schema: null,
        strict: null,
        ...grammar,
      },
    ]
  }
  losses.add(
    typeof type === 'string' && /search|code_interpreter|browser|mcp/.test(type)
      ? 'tool.server'
      : 'unknown.tool',
  )
  return []
}

function choiceOf(choice: unknown, losses: Losses): ToolChoice | null {
  if (choice == null) return null
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  if (choice === 'any') return { type: 'required' }
  const { function: made, custom, name: bare } = isObject(choice) ? choice : {}
  const name = member(made, 'name') ?? member(custom, 'name') ?? bare
  if (typeof name === 'string') return { type: 'tool', name, namespace: null }
  losses.add('tool_choice')
  return null
}

/** Converts an assistant's message. `family`: the owner of opaque data without our mark. */
function answerBlocks(message: Json, losses: Losses, family: string | null = null): Block[] {
  const { content, refusal, tool_calls: calls, function_call: call, annotations, audio, images } = message
  const blocks = [...reasoningOf(message, family, losses), ...partsOf(content, losses)]
  if (typeof refusal === 'string' && refusal !== '') {
    losses.add('refusal')
    blocks.push({ type: 'text', text: refusal })
  }
  if (listOrEmpty(annotations).length > 0) losses.add('citations')
  losses.of(audio, 'audio')
  blocks.push(...partsOf(images, losses))
  blocks.push(...listOrEmpty(calls).flatMap((each) => callOf(each, losses)))
  if (isObject(call)) blocks.push(...callOf({ id: call.name, function: call }, losses))
  return blocks
}

/** Opaque details may accompany the text. A text inside the details replaces the text of the message. */
function reasoningOf(message: Json, family: string | null, losses: Losses): Block[] {
  const { reasoning_content: content, reasoning, reasoning_details: details } = message
  const blocks = listOrEmpty(details).flatMap((detail) => detailOf(detail, family, losses))
  if (blocks.some((block) => block.type === 'reasoning' && block.text !== '')) return blocks
  const text = textOf(content) || textOf(reasoning)
  return text === '' ? blocks : [{ type: 'reasoning', text, opaque: null }, ...blocks]
}

/** Converts OpenRouter's `reasoning_details`: signed text, a summary, or encrypted data. Details from this
 * gateway carry a mark. */
export function detailOf(detail: unknown, family: string | null, losses: Losses): Block[] {
  if (!isObject(detail)) return []
  const text = textOf(detail.text) || textOf(detail.summary)
  const sealed = textOf(detail.signature) || textOf(detail.data)
  if (sealed === '') return text === '' ? [] : [{ type: 'reasoning', text, opaque: null }]
  const ours = unpackOpaque(sealed)
  if (!ours && family === null) losses.add('thinking.signature')
  const opaque = ours ?? (family === null ? null : { family, bytes: JSON.stringify(detail) })
  return [{ type: 'reasoning', text, opaque }]
}

/** Converts a string or a list of parts. */
export function partsOf(content: unknown, losses: Losses): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOrEmpty(content).flatMap((part) => partOf(part, losses))
}

function partOf(part: unknown, losses: Losses): Block[] {
  if (typeof part === 'string') return [{ type: 'text', text: part }]
  if (!isObject(part)) return [unknown(part, 'unknown.block')]
  losses.of(part.prompt_cache_breakpoint, 'cache_control')
  const cache = part.cache_control == null ? {} : { cache: part.cache_control }
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return [{ type: 'text', text: textOf(part.text), ...cache }]
    case 'refusal':
      losses.add('refusal')
      return [{ type: 'text', text: textOf(part.refusal) }]
    // Mistral's format of reasoning.
    case 'thinking':
      return [
        {
          type: 'reasoning',
          text: listOrEmpty(part.thinking)
            .map((each) => textOf(member(each, 'text')))
            .join(''),
          opaque: null,
        },
      ]
    case 'image_url': {
      const image = part.image_url
      const detail = member(image, 'detail')
      const source = sourceOf(textOf(isObject(image) ? image.url : image))
      return [{ type: 'image', source, ...(typeof detail === 'string' ? { detail } : {}), ...cache }]
    }
    case 'input_audio': {
      const { data, format } = isObject(part.input_audio) ? part.input_audio : {}
      const source: Source = { kind: 'base64', mediaType: `audio/${textOf(format)}`, data: textOf(data) }
      return [{ type: 'document', source, name: null }]
    }
    case 'file':
      return [fileOf(part.file ?? part, cache)] // Mistral sends the file without an enclosing object
    default:
      return [unknown(part, 'unknown.block')]
  }
}

function fileOf(file: unknown, cache: object): Block {
  const { file_id: id, file_data: data, filename } = isObject(file) ? file : {}
  const name = typeof filename === 'string' ? filename : null
  if (typeof id === 'string') return { type: 'document', source: { kind: 'file', id }, name, ...cache }
  return { type: 'document', source: sourceOf(textOf(data)), name, ...cache }
}

function callOf(call: unknown, losses: Losses): Block[] {
  if (!isObject(call)) return []
  const id = originalId(textOf(call.id))
  const { function: made, custom } = call
  if (isObject(made))
    return [
      {
        type: 'call',
        id,
        name: textOf(made.name),
        namespace: null,
        kind: 'function',
        args: argsOf(made.arguments),
      },
    ]
  if (isObject(custom))
    return [
      {
        type: 'call',
        id,
        name: textOf(custom.name),
        namespace: null,
        kind: 'custom',
        args: textOf(custom.input),
      },
    ]
  losses.add('unknown.block')
  return []
}

/** Some servers send the arguments as an object, not as a string. */
export const argsOf = (args: unknown): string =>
  typeof args === 'string' ? args : args == null ? '' : JSON.stringify(args)

const unknown = (raw: unknown, loss: Loss): Block => ({ type: 'unknown', dialect: 'chat', raw, loss })
