// Cases of losses when responses are translated (see ../test-loss-cases.ts).
import type { Loss } from '../../core/losses.ts'
import type { Json } from '../json.ts'
import type { LossCase } from '../test-sample-type.ts'

export const PLAIN: Json = { model: 'm', input: 'hi' }

type Case = Omit<LossCase, 'from' | 'to'>
const of = (from: string, to: string, cases: readonly Case[]): LossCase[] =>
  cases.map((each) => ({ from, to, ...each }))

const input = (...items: object[]): Json => ({ input: [{ role: 'user', content: 'hi' }, ...items] })
const tools = (...tools: object[]): Json => ({ tools })
const fn = { type: 'function', name: 't', parameters: { type: 'object' } }
const image = { type: 'input_image', image_url: 'data:image/png;base64,QUJD' }
const lost = (request: Json, ...loses: Loss[]): Case => ({ request, loses })

/** Losses in every other dialect. */
const ANYWHERE: readonly Case[] = [
  lost({}),
  lost({ store: false, include: ['reasoning.encrypted_content'], truncation: 'disabled' }),
  lost({ client_metadata: { a: 'b' } }, 'metadata'),
  lost({ truncation: 'auto' }, 'context_management'),
  lost({ top_logprobs: 2, include: ['message.output_text.logprobs'] }, 'logprobs'),
  lost({ max_tool_calls: 3 }, 'tool.server'),
  lost({ of_tomorrow: 1 }, 'unknown.field'),
  lost(input({ type: 'of_tomorrow' }), 'unknown.block'),
  lost(input({ type: 'compaction', encrypted_content: 'gAAA' }), 'compaction'),
  lost(input({ type: 'item_reference', id: 'rs_1' }), 'store'),
  lost(input({ type: 'reasoning', summary: [], encrypted_content: 'gAAA' }), 'thinking.signature'),
  lost(input({ type: 'reasoning', summary: [], content: null, encrypted_content: null })),
  lost(input({ type: 'web_search_call', id: 'w', status: 'completed' }), 'tool.server'),
  lost(
    input(
      { type: 'local_shell_call', call_id: 'a', action: {} },
      { type: 'local_shell_call_output', call_id: 'a', output: 'x' },
    ),
    'tool.builtin',
  ),
  lost({ reasoning: { context: 'all_turns' } }, 'thinking.context'),
  lost({ reasoning: { context: 'auto', mode: 'standard' } }),
  lost(
    input({ role: 'assistant', phase: 'commentary', content: 'ho' }, { role: 'user', content: 'hi' }),
    'phase',
  ),
  lost(
    input({
      role: 'user',
      content: [{ type: 'input_text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }],
    }),
    'cache_control',
  ),
  lost(input({ type: 'additional_tools', role: 'developer', tools: [fn] })),
  lost(tools({ type: 'web_search' }), 'tool.server'),
  lost(tools({ type: 'local_shell' }), 'tool.builtin'),
  lost(tools({ type: 'of_tomorrow' }), 'unknown.tool'),
  lost(tools({ ...fn, defer_loading: true }), 'tool.search'),
  lost(tools({ type: 'tool_search', execution: 'server' }), 'tool.search'),
  lost(tools({ type: 'tool_search', execution: 'client', parameters: { type: 'object' } })),
  lost(tools({ type: 'namespace', name: 'n', description: 'x', tools: [fn] })),
  lost(tools({ type: 'custom', name: 'c', format: { type: 'text' } })),
  lost(
    tools({ type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'a' } }),
    'tool.custom.grammar',
  ),
  lost({ ...tools(fn), tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }, 'tool_choice'),
  lost(
    {
      input: [
        { role: 'developer', content: 'x' },
        { role: 'user', content: 'hi' },
      ],
    },
    'role.developer',
  ),
  lost({ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] }, 'file'),
  lost({ text: { format: { type: 'of_tomorrow' } } }, 'format'),
]

const TO_MESSAGES: readonly Case[] = [
  ...ANYWHERE,
  lost({ prompt_cache_key: 'k' }, 'prompt_cache'),
  lost({ safety_identifier: 'k' }, 'safety_identifier'),
  lost({ store: true }, 'store'),
  lost({ reasoning: { effort: 'medium' } }, 'effort'),
  lost({ text: { verbosity: 'low' } }, 'verbosity'),
  lost(input({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }), 'thinking.text'),
  lost({ input: [{ role: 'user', content: [{ ...image, detail: 'low' }] }] }, 'image.detail'),
]

const TO_CHAT: readonly Case[] = [
  ...ANYWHERE,
  lost({ prompt_cache_key: 'k', store: true, text: { verbosity: 'low' }, reasoning: { effort: 'medium' } }),
  lost(input({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] })),
  lost(
    input(
      { type: 'function_call', call_id: 'a', name: 't', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: [image] },
    ),
    'tool_result.media',
  ),
]

const message = (more: object): Json => ({ messages: [{ role: 'user', content: 'hi' }], ...more })
const response = (item: object, more: object = {}): Json => ({
  object: 'response',
  status: 'completed',
  model: 'm',
  output: [item],
  ...more,
})
const said = (part: object = {}) =>
  response({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x', ...part }] })

/** Losses in the answers of a provider that speaks responses. */
const ANSWERS: readonly Case[] = [
  { answer: said(), loses: [] },
  { answer: said({ annotations: [{ type: 'url_citation' }] }), loses: ['citations'] },
  { answer: said({ type: 'refusal', refusal: 'no' }), loses: ['refusal'] },
  { answer: response({ type: 'web_search_call', id: 'w' }), loses: ['tool.server'] },
  { answer: response({ type: 'reasoning', id: 'r', summary: [], encrypted_content: 'gAAA' }), loses: [] },
]

const MESSAGES_HERE: readonly Case[] = [
  lost(message({ stop_sequences: ['a'] }), 'stop'),
  lost(message({ top_k: 5 }), 'sampling.top_k'),
  lost(message({ max_tokens: 10 }), 'max_tokens'),
  lost(message({ thinking: { type: 'enabled', budget_tokens: 2_000 } }), 'thinking.budget'),
  lost(message({ thinking: { type: 'disabled' } })),
  lost(message({ thinking: { type: 'adaptive' } })),
  lost(message({ output_config: { effort: 'max' } }), 'effort'),
  lost(message({ metadata: { user_id: 'u' } }), 'metadata'),
  lost(
    {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
      ],
    },
    'cache_control',
  ),
  lost(
    {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 't', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              is_error: true,
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }],
            },
          ],
        },
      ],
    },
    'tool_result.error',
  ),
  ...ANSWERS,
  {
    answer: response(
      { type: 'message', content: [] },
      { status: 'incomplete', incomplete_details: { reason: 'x' } },
    ),
    loses: ['stop_reason'],
  },
]

const CHAT_HERE: readonly Case[] = [
  lost(message({ stop: ['a'] }), 'stop'),
  lost(message({ seed: 1 }), 'sampling.seed'),
  lost(message({ presence_penalty: 0.5, logit_bias: { 1: 2 } }), 'sampling.penalties'),
  lost(message({ reasoning_effort: 'low', verbosity: 'low', metadata: { a: 'b' } })),
  lost(message({ response_format: { type: 'json_object' } })),
  lost(message({ n: 2 }), 'n'),
  ...ANSWERS,
]

export const RESPONSES_CASES: readonly LossCase[] = [
  ...of('responses', 'messages', TO_MESSAGES),
  ...of('responses', 'chat', TO_CHAT),
  ...of('messages', 'responses', MESSAGES_HERE),
  ...of('chat', 'responses', CHAT_HERE),
]
