// Cases of losses between dialects: a client's request or a provider's answer, with the names of the losses.
// The tests check each case against the translation. docs/losses.md is generated from the cases.

import { GEMINI_CASES, PLAIN as PLAIN_GEMINI } from './gemini/test-loss-cases.ts'
import { INTERACTIONS_CASES, PLAIN as PLAIN_INTERACTIONS } from './interactions/test-loss-cases.ts'
import type { Json } from './json.ts'
import { PLAIN, RESPONSES_CASES } from './responses/test-loss-cases.ts'
import type { LossCase } from './test-sample-type.ts'

/** A plain request of each dialect. It is translated without loss. */
export const PLAIN_REQUESTS: Readonly<Record<string, Json>> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  messages: { model: 'm', max_tokens: 50_000, messages: [{ role: 'user', content: 'hi' }] },
  responses: PLAIN,
  gemini: PLAIN_GEMINI,
  interactions: PLAIN_INTERACTIONS,
}

const user = (...content: unknown[]): Json => ({ messages: [{ role: 'user', content }] })
const schema = { type: 'object' }
const tool = (more: object) => ({ tools: [{ name: 't', input_schema: schema, ...more }] })
const fn = (more: object = {}) => ({ type: 'function', function: { name: 't', parameters: schema }, ...more })
const assistant = (...content: unknown[]): Json => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content },
    { role: 'user', content: 'and?' },
  ],
})
const result = (more: object): Json => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 't', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x', ...more }] },
  ],
})
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }
const said = (message: object, more: object = {}): Json => ({
  model: 'm',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'x', ...message }, finish_reason: 'stop', ...more },
  ],
})
const message = (more: object): Json => ({
  type: 'message',
  model: 'm',
  content: [{ type: 'text', text: 'x' }],
  stop_reason: 'end_turn',
  ...more,
})
const long = 'x'.repeat(60)

const of = (from: string, to: string, cases: readonly Omit<LossCase, 'from' | 'to'>[]): LossCase[] =>
  cases.map((each) => ({ from, to, ...each }))

const MESSAGES_TO_CHAT = of('messages', 'chat', [
  { request: {}, loses: [] },
  { request: { cache_control: { type: 'ephemeral' } }, loses: ['cache_control'] },
  { request: { system: [{ type: 'text', text: 'x-anthropic-billing-header: a;' }] }, loses: ['attribution'] },
  {
    request: assistant({ type: 'thinking', thinking: '', signature: 'c2ln' }, { type: 'text', text: 'x' }),
    loses: ['thinking.signature'],
  },
  {
    request: assistant({ type: 'redacted_thinking', data: 'c2ln' }, { type: 'text', text: 'x' }),
    loses: ['thinking.signature'],
  },
  {
    request: assistant({ type: 'thinking', thinking: 'hm', signature: '' }, { type: 'text', text: 'x' }),
    loses: [],
  },
  { request: { thinking: { type: 'enabled', budget_tokens: 2_000 } }, loses: ['thinking.budget'] },
  { request: { thinking: { type: 'disabled' } }, loses: ['thinking.off'] },
  {
    request: { thinking: { type: 'adaptive', display: 'omitted' } },
    loses: ['effort', 'thinking.display'],
  },
  { request: { output_config: { effort: 'high' } }, loses: [] },
  { request: { output_config: { effort: 'max' } }, loses: ['effort'] },
  { request: { output_config: { of_tomorrow: 1 } }, loses: ['unknown.field'] },
  { request: {}, forwarded: ['anthropic-beta', 'of-tomorrow'], loses: ['betas'] },
  { request: { context_management: { edits: [] } }, loses: ['context_management'] },
  { request: { safeguards: [{ type: 'dangerous_tool_use' }] }, loses: ['safeguards'] },
  { request: { container: 'c' }, loses: ['container'] },
  { request: { thread: { type: 'create' } }, loses: ['thread'] },
  { request: { mcp_servers: [{}] }, loses: ['mcp_servers'] },
  { request: { metadata: { user_id: 'u' } }, loses: ['metadata'] },
  { request: { service_tier: 'auto' }, loses: ['service_tier'] },
  { request: { top_k: 5 }, loses: ['sampling.top_k'] },
  { request: { stop_sequences: ['a', 'b', 'c', 'd', 'e'] }, loses: ['stop'] },
  { request: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, loses: ['tool.server'] },
  { request: { tools: [{ type: 'bash_20250124', name: 'bash' }] }, loses: ['tool.builtin'] },
  { request: tool({ defer_loading: true }), loses: ['tool.search'] },
  { request: tool({ input_examples: [{}] }), loses: ['tool.options'] },
  { request: { tools: [{ type: 'of_tomorrow' }] }, loses: ['unknown.tool'] },
  { request: result({ is_error: true }), loses: ['tool_result.error'] },
  { request: result({ content: [image] }), loses: ['tool_result.media'] },
  { request: result({ content: [{ type: 'tool_reference', tool_name: 't' }] }), loses: ['tool.search'] },
  {
    request: assistant({ type: 'tool_use', id: 'a', name: 't', input: {} }, { type: 'text', text: 'x' }),
    loses: ['order', 'turns'],
  },
  {
    request: assistant({ type: 'server_tool_use', id: 'a', name: 'web_search', input: {} }),
    loses: ['tool.server'],
  },
  {
    request: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'system', content: 'x', output_config: {} },
      ],
    },
    loses: ['system.place'],
  },
  { request: user({ type: 'image', source: { type: 'file', file_id: 'f' } }), loses: ['file'] },
  {
    request: user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }),
    loses: ['document'],
  },
  {
    request: user({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'QUJD' },
      context: 'c',
    }),
    loses: ['document.title'],
  },
  { request: assistant({ type: 'text', text: 'x', citations: [{}] }), loses: ['citations'] },
  { request: { of_tomorrow: 1 }, loses: ['unknown.field'] },
  { request: user({ type: 'of_tomorrow' }), loses: ['unknown.block'] },
  { answer: said({}), loses: [] },
  { answer: said({ refusal: 'no' }), loses: ['refusal'] },
  { answer: said({ annotations: [{}] }), loses: ['citations'] },
  { answer: said({ audio: {} }), loses: ['audio'] },
  {
    answer: said({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }] }),
    loses: ['image'],
  },
  { answer: said({}, { logprobs: {} }), loses: ['logprobs'] },
  { answer: said({}, { delta: { content: 'other' } }), loses: ['repetition'] },
  { answer: said({}, { finish_reason: 'of_tomorrow' }), loses: ['stop_reason'] },
  {
    answer: said({ tool_calls: [{ id: long, type: 'function', function: { name: 't', arguments: '{}' } }] }),
    loses: ['tool.id'],
  },
  {
    answer: said({
      tool_calls: [{ id: 'a', type: 'function', function: { name: 't', arguments: 'no JSON' } }],
    }),
    loses: ['tool.arguments'],
  },
])

const CHAT_TO_MESSAGES = of('chat', 'messages', [
  { request: {}, loses: [] },
  { request: user({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }), loses: [] },
  { request: { reasoning_effort: 'high' }, loses: ['effort'] },
  { request: { reasoning_effort: 'none' }, loses: [] },
  { request: { reasoning: { max_tokens: 2_000 } }, loses: [] },
  { request: { max_tokens: 2_000, reasoning: { max_tokens: 4_000 } }, loses: ['thinking.budget'] },
  {
    request: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'x', reasoning_content: 'hm' },
      ],
    },
    loses: ['thinking.text'],
  },
  {
    request: {
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: 'x',
          reasoning_details: [{ type: 'reasoning.encrypted', data: 'c2ln' }],
        },
      ],
    },
    loses: ['thinking.signature'],
  },
  { request: { metadata: { a: 'b' } }, loses: ['metadata'] },
  { request: { service_tier: 'flex' }, loses: ['service_tier'] },
  { request: { store: false }, loses: ['store'] },
  { request: { prompt_cache_key: 'k' }, loses: ['prompt_cache'] },
  { request: { safety_identifier: 'k' }, loses: ['safety_identifier'] },
  { request: { user: 'u' }, loses: [] },
  { request: { seed: 7 }, loses: ['sampling.seed'] },
  { request: { frequency_penalty: 1 }, loses: ['sampling.penalties'] },
  { request: { temperature: 1.5 }, loses: ['sampling.temperature'] },
  { request: { temperature: 0.5, top_p: 0.9 }, loses: ['sampling.temperature'] },
  { request: { logprobs: true }, loses: ['logprobs'] },
  { request: { n: 2 }, loses: ['n'] },
  { request: { prediction: {} }, loses: ['prediction'] },
  { request: { modalities: ['text', 'audio'] }, loses: ['modalities'] },
  { request: { verbosity: 'low' }, loses: ['verbosity'] },
  { request: { response_format: { type: 'json_object' } }, loses: ['format'] },
  {
    request: { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } },
    loses: ['format.name', 'schema'],
  },
  { request: { web_search_options: {} }, loses: ['tool.server'] },
  { request: { tools: [{ type: 'of_tomorrow' }] }, loses: ['unknown.tool'] },
  {
    request: {
      tools: [
        {
          type: 'custom',
          custom: { name: 't', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'a' } } },
        },
      ],
    },
    loses: ['tool.custom.grammar'],
  },
  { request: { tools: [fn()], tool_choice: { type: 'allowed_tools' } }, loses: ['tool_choice'] },
  {
    request: {
      messages: [
        { role: 'developer', content: 'x' },
        { role: 'user', content: 'hi' },
      ],
    },
    loses: ['role.developer'],
  },
  {
    request: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'system', content: 'x' },
      ],
    },
    loses: ['system.place'],
  },
  { request: { messages: [{ role: 'user', name: 'ada', content: 'hi' }] }, loses: ['name'] },
  { request: { messages: [{ role: 'system', content: 'x' }] }, loses: ['system.place'] },
  {
    request: {
      messages: [
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'hi' },
      ],
    },
    loses: ['turns'],
  },
  { request: { messages: [{ role: 'tool', tool_call_id: 'a', content: 'x' }] }, loses: ['turns'] },
  {
    request: user({ type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,QUJD' } }),
    loses: ['image'],
  },
  {
    request: { tools: [fn({ function: { name: 't', parameters: { anyOf: [schema] } } })] },
    loses: ['schema'],
  },
  {
    request: user({ type: 'image_url', image_url: { url: 'https://example.org/a.png', detail: 'low' } }),
    loses: ['image.detail'],
  },
  { request: user({ type: 'input_audio', input_audio: { data: 'QUJD', format: 'wav' } }), loses: ['audio'] },
  { request: user({ type: 'file', file: { file_id: 'f' } }), loses: ['file'] },
  { request: { of_tomorrow: 1 }, loses: ['unknown.field'] },
  { answer: message({}), loses: [] },
  { answer: message({ stop_reason: 'stop_sequence', stop_sequence: 'x' }), loses: ['stop_sequence'] },
  { answer: message({ stop_reason: 'pause_turn' }), loses: ['stop_reason'] },
  {
    answer: message({ usage: { input_tokens: 1, cache_creation: { ephemeral_1h_input_tokens: 7 } } }),
    loses: ['usage'],
  },
  {
    answer: message({ content: [{ type: 'server_tool_use', id: 'a', name: 'web_search', input: {} }] }),
    loses: ['tool.server'],
  },
  { answer: message({ content: [{ type: 'text', text: 'x', citations: [{}] }] }), loses: ['citations'] },
  {
    answer: message({
      content: [
        { type: 'tool_use', id: 'a', name: 't', input: {} },
        { type: 'text', text: 'x' },
      ],
      stop_reason: 'tool_use',
    }),
    loses: ['order'],
  },
])

export const LOSS_CASES: readonly LossCase[] = [
  ...MESSAGES_TO_CHAT,
  ...CHAT_TO_MESSAGES,
  ...RESPONSES_CASES,
  ...GEMINI_CASES,
  ...INTERACTIONS_CASES,
]
