// Sample Responses traffic, written by hand from OpenAI's API reference.
import type { Samples } from '../test-sample-type.ts'

/** Returns a stream of the given events, numbered. */
export const streamOf = (...events: { type: string; [name: string]: unknown }[]): string =>
  events
    .map(
      ({ type, ...more }, sequence_number) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...more })}\n\n`,
    )
    .join('')

export const response = (model: string, status: string, more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  status,
  model,
  output: [],
  usage: null,
  ...more,
})

export const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})

const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const delta = (text: string) => ({ type: 'response.output_text.delta', ...at, delta: text })
const text = 'Grüße 👋'
const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 11 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
}

export const samples: Samples = {
  request: (model, stream) =>
    `{"model": ${JSON.stringify(model)}, "instructions": "be brief", "input": [{"type":"message","role":"user","content":"hi"}, {"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":null}], "stream": ${stream}, "store": false, "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  forwarded: ['openai-beta', 'x-codex-turn-metadata', 'session-id', 'version'],
  limit: (max_output_tokens) => ({ max_output_tokens }),
  noRequests: [
    '{}',
    '{"model":7,"input":"x"}',
    '{"model":"","input":"x"}',
    '{"model":"m","input":7}',
    '{"model":"m","input":"x","stream":1}',
    '{"model":"m","input":"x","previous_response_id":7}',
  ],
  answer: (model, usage) =>
    JSON.stringify(response(model, 'completed', { output: [message('x')], usage, store: true })),
  stream: (model) =>
    [
      streamOf(
        { type: 'response.created', response: response(model, 'in_progress') },
        { type: 'response.in_progress', response: response(model, 'in_progress') },
        { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: [] } },
        delta('Grüße '),
      ),
      ': a comment\n\n',
      'event: novelty\ndata: no JSON at all\n\n',
      'event: keepalive\ndata: {"type":"keepalive","sequence_number":5}\n\n',
      streamOf(
        delta('👋'),
        { type: 'response.output_text.done', ...at, text },
        { type: 'response.output_item.done', output_index: 0, item: message(text) },
        {
          type: 'response.completed',
          response: response(model, 'completed', { output: [message(text)], usage }),
        },
      ),
      'data: [DONE]\n\n',
    ].join(''),
  read: {
    text,
    tokens: { source: 'reported', input: 20, output: 7, cached_input: 11, cache_write: null, reasoning: 2 },
  },
  usage: { input_tokens: 'input', output_tokens: 'output' },
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}', '{"output":{}}', '{"choices":[]}'],
  errors: [
    ['{"error":{"message":"no","type":"t","code":"c"}}', { message: 'no', code: 'c', status: null }],
    ['{"error":{"message":"no","type":"t","code":null}}', { message: 'no', code: 't', status: null }],
    [
      '{"error":{"message":"no","code":"rate_limit_exceeded"}}',
      { message: 'no', code: 'rate_limit_exceeded', status: 429 },
    ],
    ['{"error":{"message":"no","code":"two words"}}', { message: 'no', code: null, status: null }],
    ['{"code":"invalid-argument","error":"no"}', { message: 'no', code: 'invalid-argument', status: null }],
    ['{"error":{"message":7}}', null],
    ['[]', null],
    ['<html>', null],
    ['', null],
  ],
}
