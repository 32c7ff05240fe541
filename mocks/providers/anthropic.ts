// Anthropic: messages in blocks, streams of named events with a ping near the start, token counts, and typed
// errors. The key is in `x-api-key` or a bearer token.

import { z } from 'zod'
import { parseExact } from '../../src/shared/exact-json.ts'
import {
  type Arrived,
  bearer,
  type Endpoint,
  event,
  type MockProvider,
  type MockUsage,
  type ModelOutput,
  type ProviderRefusal,
  type RefusedRequest,
  type Speech,
  type Wants,
} from '../provider.ts'
import { anthropicCountTokensBody, anthropicMessagesBody } from '../schemas/anthropic-messages.ts'
import { pydanticFieldError } from '../schemas/refusals.ts'
import { AnthropicObjectStore, anthropicObjectEndpoints } from '../stored-objects/anthropic.ts'

const STOP_REASONS = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
} as const satisfies Record<ModelOutput['finish'], string>

/**
 * Formats usage. Anthropic's input tokens exclude tokens read from or written to a cache; output tokens
 * include thinking.
 */
const usageOf = ({
  input,
  output,
  cached,
  reasoning,
  written = 0,
  written_1h = 0,
  searches,
  compaction,
}: MockUsage) => ({
  input_tokens: input - cached - written - written_1h,
  cache_creation_input_tokens: written + written_1h,
  cache_read_input_tokens: cached,
  output_tokens: output,
  ...(reasoning > 0 && { output_tokens_details: { thinking_tokens: reasoning } }),
  ...(searches !== undefined && {
    server_tool_use: { web_search_requests: searches, web_fetch_requests: 0 },
  }),
  ...(compaction && {
    iterations: [
      { type: 'compaction', input_tokens: compaction.input, output_tokens: compaction.output },
      { type: 'message', input_tokens: input, output_tokens: output },
    ],
  }),
})

/** Formats how the call was served. A stream reports this in its first event only. */
const servedOf = ({ written = 0, written_1h = 0, tier, speed, region }: MockUsage) => ({
  ...(written + written_1h > 0 && {
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: written_1h },
  }),
  ...(tier !== undefined && { service_tier: tier }),
  ...(speed !== undefined && { speed }),
  ...(region !== undefined && { inference_geo: region }),
})

const SIGNATURE = Buffer.from('a signature of nobody').toString('base64')

interface Block {
  /** Block in a whole answer. */
  readonly whole: object
  /** First event of the block in a stream, and its deltas. */
  readonly start: object
  readonly deltas: readonly object[]
}

function blocksOf({ reasoning, text, calls }: ModelOutput): Block[] {
  const blocks: Block[] = []
  if (reasoning.length > 0)
    blocks.push({
      whole: { type: 'thinking', thinking: reasoning.join(''), signature: SIGNATURE },
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: SIGNATURE },
      ],
    })
  if (text.length > 0)
    blocks.push({
      whole: { type: 'text', text: text.join('') },
      start: { type: 'text', text: '' },
      deltas: text.map((piece) => ({ type: 'text_delta', text: piece })),
    })
  for (const { id, name, arguments: pieces } of calls)
    blocks.push({
      whole: { type: 'tool_use', id, name, input: parseExact(pieces.join('') || '{}') },
      start: { type: 'tool_use', id, name, input: {} },
      deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    })
  return blocks
}

const message = (said: ModelOutput, content: readonly object[], stop_reason: string | null) => ({
  model: said.model,
  id: 'msg_mock_0000000000000000000',
  type: 'message',
  role: 'assistant',
  content,
  stop_reason,
  stop_sequence: null,
})

const named = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  event(data, data.type)
const PING = named({ type: 'ping' })
const failed = (type: string, text: string) => ({ type: 'error', error: { type, message: text } })

const speech: Speech = {
  dialect: 'messages',
  streamType: 'text/event-stream; charset=utf-8',
  keepAlive: PING,
  failure: (text) => named(failed('api_error', text)),

  whole: (said) => ({
    ...message(
      said,
      blocksOf(said).map(({ whole }) => whole),
      STOP_REASONS[said.finish],
    ),
    ...(said.usage && { usage: { ...usageOf(said.usage), ...servedOf(said.usage) } }),
  }),

  events(said) {
    const usage = said.usage && usageOf(said.usage)
    // Counts only grow: the last event never reports fewer tokens than the first.
    const output = Math.min(1, said.usage?.output ?? 0)
    const begun = { output, reasoning: 0, searches: undefined, compaction: undefined }
    const soFar = said.usage && {
      usage: { ...usageOf({ ...said.usage, ...begun }), ...servedOf(said.usage) },
    }
    const start = { ...message(said, [], null), ...soFar }
    return [
      named({ type: 'message_start', message: start }),
      PING,
      ...blocksOf(said).flatMap((block, index) => [
        named({ type: 'content_block_start', index, content_block: block.start }),
        ...block.deltas.map((delta) => named({ type: 'content_block_delta', index, delta } as const)),
        named({ type: 'content_block_stop', index }),
      ]),
      named({
        type: 'message_delta',
        delta: { stop_reason: STOP_REASONS[said.finish], stop_sequence: null },
        ...(usage && { usage }),
      }),
      named({ type: 'message_stop' }),
    ]
  },
}

const wantsSchema = z
  .object({
    model: z.string().nullable().catch(null),
    stream: z.boolean().catch(false),
    tools: z.array(z.unknown()).catch([]),
    messages: z.array(z.object({ content: z.unknown() })).catch([]),
  })
  .catch({ model: null, stream: false, tools: [], messages: [] })

function wants({ json }: Arrived): Wants {
  const { model, stream, tools, messages } = wantsSchema.parse(json)
  const answered = messages.some(
    ({ content }) => Array.isArray(content) && content.some((block) => block?.type === 'tool_result'),
  )
  return { model, stream, usage: true, tools: tools.length > 0 && !answered }
}

export const anthropicMessages: Endpoint = {
  method: 'POST',
  name: 'messages',
  body: anthropicMessagesBody,
  wants,
  speech,
}

/** Token counting. Never streams, and generates no tokens. */
export const anthropicCountTokens: Endpoint = {
  ...anthropicMessages,
  name: 'messages/count_tokens',
  body: anthropicCountTokensBody,
  wants: (request) => ({ ...wants(request), stream: false, tools: false }),
  speech: null,
}

const models: Endpoint = {
  method: 'GET',
  name: 'models',
  body: null,
  wants: () => ({ model: null, stream: false, usage: false, tools: false }),
  speech: null,
}

const REFUSALS = {
  bad_key: [401, 'authentication_error', false],
  invalid_request: [400, 'invalid_request_error', false],
  unknown_model: [404, 'not_found_error', false],
  unknown_path: [404, 'not_found_error', false],
  rate_limited: [429, 'rate_limit_error', true],
  overloaded: [529, 'overloaded_error', true],
  server_error: [500, 'api_error', true],
} as const satisfies Record<ProviderRefusal, readonly [number, string, boolean]>

/** Formats Anthropic's error, with the header that decides whether its clients retry. */
function refusal(kind: ProviderRefusal, text: string): RefusedRequest {
  const [status, type, retry] = REFUSALS[kind]
  const request_id = 'req_mock'
  return {
    status,
    headers: { 'request-id': request_id, 'x-should-retry': String(retry) },
    body: { ...failed(type, text), request_id },
  }
}

/** A subscription's token is accepted only as a bearer token with its beta header. */
const isLogin = (value = ''): boolean => /^(Bearer +)?sk-ant-oat/i.test(value)
const NO_LOGINS = 'OAuth authentication is currently not supported.'

export const anthropic = {
  name: 'anthropic',
  origin: 'https://api.anthropic.com',
  basePaths: ['/v1'],
  endpoints: [anthropicMessages, anthropicCountTokens, models, ...anthropicObjectEndpoints],
  credential: (request) => request.headers['x-api-key'] ?? bearer(request),
  lacks({ headers }) {
    if (isLogin(headers.authorization) && !/(^|[\s,])oauth-/.test(headers['anthropic-beta'] ?? ''))
      return { problem: 'a login without its beta', refused: refusal('bad_key', NO_LOGINS) }
    if (isLogin(headers['x-api-key']))
      return { problem: 'a login as x-api-key', refused: refusal('bad_key', 'invalid x-api-key') }
    if (headers['anthropic-version']) return null
    const problem = 'anthropic-version: header is required'
    return { problem, refused: refusal('invalid_request', problem) }
  },
  holdsThreads: true,
  objectStore: () => new AnthropicObjectStore({ refusal }),
  refusal,
  invalidField: (field, issue) => `${field.replace(/\[(\d+)\]/g, '.$1')}: ${pydanticFieldError(issue)}`,
  unknownField: (name) => `${name}: Extra inputs are not permitted`,
} satisfies MockProvider
