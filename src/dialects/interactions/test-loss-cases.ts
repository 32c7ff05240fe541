// Cases of losses between Interactions and other dialects (see ../test-loss-cases.ts).
import type { Json } from '../json.ts'
import type { LossCase } from '../test-sample-type.ts'

export const PLAIN: Json = { model: 'm', input: 'hi' }

const config = (generation_config: object): Json => ({ generation_config })
const tool = (more: object = {}): Json => ({ tools: [{ type: 'function', name: 't', ...more }] })
const user = (...content: object[]): Json => ({ input: [{ type: 'user_input', content }] })
const turns = (...steps: object[]): Json => ({
  input: [
    { type: 'user_input', content: [{ type: 'text', text: 'hi' }] },
    ...steps,
    { type: 'user_input', content: [{ type: 'text', text: 'and?' }] },
  ],
})
const answer = (steps: object[], more: object = {}): Json => ({
  ...{ id: 'v1_1', object: 'interaction', model: 'm', status: 'completed', steps },
  ...more,
})
const said = (...content: object[]) => ({ type: 'model_output', content })
const of = (from: string, to: string, cases: readonly Omit<LossCase, 'from' | 'to'>[]): LossCase[] =>
  cases.map((each) => ({ from, to, ...each }))

const TO_CHAT = of('interactions', 'chat', [
  { request: {}, loses: [] },
  { request: { system_instruction: 'x' }, loses: [] },
  { request: config({ max_output_tokens: 9, temperature: 1, top_p: 0.9, seed: 7 }), loses: [] },
  { request: config({ stop_sequences: ['a', 'b', 'c', 'd', 'e'] }), loses: ['stop'] },
  { request: config({ thinking_level: 'high', thinking_summaries: 'auto' }), loses: [] },
  { request: config({ speech_config: {} }), loses: ['modalities'] },
  { request: config({ of_tomorrow: 1 }), loses: ['unknown.field'] },
  { request: { ...tool(), ...config({ tool_choice: 'any' }) }, loses: [] },
  {
    request: { ...tool(), ...config({ tool_choice: { allowed_tools: { mode: 'any', tools: ['t', 'u'] } } }) },
    loses: ['tool_choice'],
  },
  { request: { tools: [{ type: 'google_search' }] }, loses: ['tool.server'] },
  { request: { tools: [{ type: 'computer_use' }] }, loses: ['tool.builtin'] },
  { request: { response_format: { type: 'text', mime_type: 'application/json' } }, loses: [] },
  { request: { response_format: { type: 'text', schema: { type: 'object' } } }, loses: [] },
  { request: { response_format: { type: 'audio' } }, loses: ['modalities'] },
  { request: { safety_settings: [{}] }, loses: ['safeguards'] },
  { request: { labels: { a: 'b' } }, loses: ['metadata'] },
  { request: { cached_content: 'cachedContents/x' }, loses: ['prompt_cache'] },
  { request: user({ type: 'image', mime_type: 'image/png', data: 'QUJD' }), loses: [] },
  {
    request: user({ type: 'image', mime_type: 'image/png', data: 'QUJD', resolution: 'low' }),
    loses: ['image.detail'],
  },
  { request: user({ type: 'document', mime_type: 'application/pdf', uri: 'gs://b/a.pdf' }), loses: ['file'] },
  { request: user({ type: 'of_tomorrow' }), loses: ['unknown.block'] },
  { request: turns({ type: 'google_search_call', id: 'a', arguments: {} }), loses: ['tool.server'] },
  { request: turns(said({ type: 'text', text: 'x', annotations: [{}] })), loses: ['citations'] },
  {
    request: turns(
      { type: 'thought', signature: 'c2ln' },
      { type: 'function_call', id: 'a', name: 't', arguments: {} },
    ),
    loses: ['thinking.signature', 'turns'],
  },
  { answer: { model: 'm', choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] }, loses: [] },
])

const TO_OTHERS = ['messages', 'responses', 'gemini'].flatMap((to) =>
  of('interactions', to, [
    { request: {}, loses: [] },
    { request: turns({ type: 'google_search_call', id: 'a', arguments: {} }), loses: ['tool.server'] },
  ]),
)

const FROM_MESSAGES = of('messages', 'interactions', [
  { request: {}, loses: [] },
  { request: { thinking: { type: 'disabled' } }, loses: ['thinking.off'] },
  { request: { thinking: { type: 'enabled', budget_tokens: 2_000 } }, loses: ['thinking.budget'] },
  { request: { output_config: { effort: 'high' } }, loses: [] },
  { request: { top_k: 5, stop_sequences: ['a'] }, loses: ['sampling.top_k'] },
  {
    request: {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
      ],
    },
    loses: ['cache_control'],
  },
  {
    request: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }] },
        { role: 'user', content: 'and?' },
      ],
    },
    loses: ['thinking.signature', 'thinking.text'],
  },
  { answer: answer([said({ type: 'text', text: 'x' })]), loses: [] },
  { answer: answer([{ type: 'thought', signature: 'c2ln' }, said({ type: 'text', text: 'x' })]), loses: [] },
  { answer: answer([said({ type: 'text', text: 'x', annotations: [{}] })]), loses: ['citations'] },
  { answer: answer([said({ type: 'image', data: 'QUJD', mime_type: 'image/png' })]), loses: ['image'] },
  { answer: answer([{ type: 'google_search_call', id: 'a', arguments: {} }]), loses: ['tool.server'] },
  { answer: answer([said({ type: 'text', text: 'x' })], { status: 'of_tomorrow' }), loses: ['stop_reason'] },
])

const FROM_CHAT = of('chat', 'interactions', [
  { request: {}, loses: [] },
  { request: { presence_penalty: 0.5 }, loses: ['sampling.penalties'] },
  { request: { user: 'u' }, loses: ['safety_identifier'] },
])

const FROM_OTHERS = ['responses', 'gemini'].flatMap((from) =>
  of(from, 'interactions', [{ request: {}, loses: [] }]),
)

export const INTERACTIONS_CASES: readonly LossCase[] = [
  ...TO_CHAT,
  ...TO_OTHERS,
  ...FROM_MESSAGES,
  ...FROM_CHAT,
  ...FROM_OTHERS,
]
