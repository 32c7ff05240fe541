// Cases of losses between Gemini and other dialects (see ../test-loss-cases.ts).
import type { Json } from '../json.ts'
import type { LossCase } from '../test-sample-type.ts'

export const PLAIN: Json = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }

const user = (...parts: object[]): Json => ({ contents: [{ role: 'user', parts }] })
const config = (generationConfig: object): Json => ({ generationConfig })
const tool = (more: object): Json => ({ tools: [{ functionDeclarations: [{ name: 't', ...more }] }] })
const answer = (parts: object[], more: object = {}): Json => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', ...more }],
  modelVersion: 'm',
})
const turns = (...parts: object[]): Json => ({
  contents: [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts },
    { role: 'user', parts: [{ text: 'and?' }] },
  ],
})
const of = (from: string, to: string, cases: readonly Omit<LossCase, 'from' | 'to'>[]): LossCase[] =>
  cases.map((each) => ({ from, to, ...each }))

const TO_CHAT = of('gemini', 'chat', [
  { request: {}, loses: [] },
  { request: { systemInstruction: { parts: [{ text: 'x' }] } }, loses: [] },
  { request: config({ maxOutputTokens: 9, temperature: 1, topP: 0.9, seed: 7 }), loses: [] },
  { request: config({ topK: 5 }), loses: ['sampling.top_k'] },
  { request: config({ candidateCount: 2 }), loses: ['n'] },
  { request: config({ responseLogprobs: true }), loses: ['logprobs'] },
  { request: config({ responseModalities: ['IMAGE'] }), loses: ['modalities'] },
  { request: config({ mediaResolution: 'MEDIA_RESOLUTION_LOW' }), loses: ['image.detail'] },
  { request: config({ ofTomorrow: 1 }), loses: ['unknown.field'] },
  { request: config({ thinkingConfig: { thinkingLevel: 'HIGH' } }), loses: [] },
  { request: config({ thinkingConfig: { thinkingBudget: 2_000 } }), loses: ['thinking.budget'] },
  { request: config({ thinkingConfig: { thinkingBudget: 0 } }), loses: ['thinking.off'] },
  { request: config({ stopSequences: ['a', 'b', 'c', 'd', 'e'] }), loses: ['stop'] },
  { request: config({ responseMimeType: 'application/json' }), loses: [] },
  { request: config({ responseMimeType: 'text/x.enum' }), loses: ['format'] },
  {
    request: config({
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } }, propertyOrdering: ['a'] },
    }),
    loses: ['schema'],
  },
  { request: { safetySettings: [{ category: 'c', threshold: 't' }] }, loses: ['safeguards'] },
  { request: { labels: { a: 'b' } }, loses: ['metadata'] },
  { request: { cachedContent: 'cachedContents/x' }, loses: ['prompt_cache'] },
  { request: tool({ parametersJsonSchema: { type: 'object' } }), loses: [] },
  { request: tool({ behavior: 'NON_BLOCKING' }), loses: ['tool.options'] },
  { request: { tools: [{ googleSearch: {} }] }, loses: ['tool.server'] },
  { request: { tools: [{ computerUse: {} }] }, loses: ['tool.builtin'] },
  {
    request: {
      ...tool({}),
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['t', 'u'] } },
    },
    loses: ['tool_choice'],
  },
  { request: user({ inlineData: { mimeType: 'image/png', data: 'QUJD' } }), loses: [] },
  { request: user({ fileData: { fileUri: 'gs://b/a.pdf', mimeType: 'application/pdf' } }), loses: ['file'] },
  { request: turns({ executableCode: { code: '1' } }), loses: ['tool.server'] },
  { request: turns({ ofTomorrow: 1 }), loses: ['unknown.block'] },
  {
    request: turns({ functionCall: { name: 't', args: {} }, thoughtSignature: 'c2ln' }),
    loses: ['thinking.signature', 'turns'],
  },
  { answer: { model: 'm', choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] }, loses: [] },
])

const TO_MESSAGES = of('gemini', 'messages', [
  { request: {}, loses: [] },
  { request: config({ seed: 7 }), loses: ['sampling.seed'] },
  { request: config({ thinkingConfig: { thinkingBudget: 2_000 } }), loses: [] },
  { request: turns({ text: 'hm', thought: true }, { text: 'x' }), loses: ['thinking.text'] },
  { request: turns({ text: 'x', thoughtSignature: 'c2ln' }), loses: ['thinking.signature'] },
])

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }
const FROM_MESSAGES = of('messages', 'gemini', [
  { request: {}, loses: [] },
  { request: { thinking: { type: 'enabled', budget_tokens: 2_000 } }, loses: [] },
  { request: { thinking: { type: 'enabled', budget_tokens: 40_000 } }, loses: ['thinking.budget'] },
  { request: { thinking: { type: 'disabled' } }, loses: [] },
  { request: { output_config: { effort: 'high' } }, loses: ['effort'] },
  { request: { top_k: 5, stop_sequences: ['a'] }, loses: [] },
  { request: { metadata: { user_id: 'u' } }, loses: ['metadata'] },
  {
    request: { tools: [{ name: 't', input_schema: { type: 'object' }, strict: true }] },
    loses: ['tool.options'],
  },
  {
    request: {
      tools: [{ name: 't', input_schema: { type: 'object' } }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    loses: ['tool_choice'],
  },
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
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 't', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true, content: 'x' }] },
      ],
    },
    loses: [],
  },
  {
    request: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 't', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
      ],
    },
    loses: ['tool_result.media'],
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
  {
    request: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'system', content: 'x' },
      ],
    },
    loses: ['system.place'],
  },
  { answer: answer([{ text: 'x' }]), loses: [] },
  { answer: answer([{ text: 'hm', thought: true }, { text: 'x' }]), loses: [] },
  { answer: answer([{ text: 'x' }], { finishReason: 'SAFETY' }), loses: [] },
  { answer: answer([{ text: 'x' }], { finishReason: 'MALFORMED_FUNCTION_CALL' }), loses: ['stop_reason'] },
  { answer: answer([{ text: 'x' }, { text: '', thoughtSignature: 'c2ln' }]), loses: ['thinking.late'] },
  { answer: answer([{ text: 'x' }], { groundingMetadata: {} }), loses: ['citations'] },
  { answer: answer([{ inlineData: { mimeType: 'image/png', data: 'QUJD' } }]), loses: ['image'] },
  { answer: answer([{ executableCode: { code: '1' } }]), loses: ['tool.server'] },
])

const FROM_CHAT = of('chat', 'gemini', [
  { request: {}, loses: [] },
  { request: { seed: 7, temperature: 1, presence_penalty: 0.5, max_tokens: 9 }, loses: [] },
  { request: { user: 'u' }, loses: ['safety_identifier'] },
  { request: { parallel_tool_calls: false }, loses: [] },
  {
    request: { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } },
    loses: ['format.name'],
  },
  { request: { response_format: { type: 'json_object' } }, loses: [] },
  {
    request: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
    loses: ['file'],
  },
  {
    request: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'https://example.org/a.png', detail: 'low' } }],
        },
      ],
    },
    loses: ['image.detail'],
  },
])

const ANSWERS = of('gemini', 'messages', [
  {
    answer: {
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'x' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, cache_creation_input_tokens: 5, output_tokens: 1 },
    },
    loses: ['usage'],
  },
])

export const GEMINI_CASES: readonly LossCase[] = [
  ...ANSWERS,
  ...TO_CHAT,
  ...TO_MESSAGES,
  ...FROM_MESSAGES,
  ...FROM_CHAT,
]
