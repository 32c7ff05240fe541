// Converts a chat request to blocks. Format: OpenAI API reference, "Chat"; reasoning as DeepSeek, Groq and
// OpenRouter send it. Reports the losses that occur in every dialect. Never throws for an unknown format.

import type { Loss, Losses } from '../../core/losses.ts'
import { type Conversation, extrasOf, type Format, type Tool, type ToolChoice, type Turn } from '../blocks.ts'
import { isObject, type Json, listOrEmpty, member, numberOf, textOf } from '../json.ts'
import { originalId } from '../tool-ids.ts'
import { answerBlocks, partsOf } from './blocks-content.ts'

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
    format: formatOf(json.response_format, losses),
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

function formatOf(format: unknown, losses: Losses): Format | null {
  const type = member(format, 'type')
  if (format == null || type === 'text') return null
  if (type === 'json_object') return { type: 'json' }
  const { name, schema, strict } = (member(format, 'json_schema') ?? {}) as Json
  if (type === 'json_schema' && isObject(schema))
    return {
      type: 'schema',
      name: typeof name === 'string' ? name : null,
      schema,
      strict: typeof strict === 'boolean' ? strict : null,
    }
  losses.add('format')
  return null
}
