// Sample Messages traffic, written by hand from Anthropic's API reference.
import type { Samples } from '../test-sample-type.ts'

const event = (json: { type: string; [name: string]: unknown }) =>
  `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`
const delta = (text: string) =>
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
const error = (type: unknown, message: unknown) => JSON.stringify({ type: 'error', error: { type, message } })

export const samples: Samples = {
  request: (model, stream) =>
    `{"model": ${JSON.stringify(model)}, "max_tokens": 64, "system": [{"type":"text","text":"be brief"}], "messages": [{"role":"user","content":"hi"}], "stream": ${stream}, "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  forwarded: ['anthropic-beta', 'anthropic-of-tomorrow'],
  limit: (max_tokens) => ({ max_tokens }),
  noRequests: [
    '{}',
    '{"model":7,"messages":[]}',
    '{"model":"","messages":[]}',
    '{"model":"m","messages":"x"}',
    '{"model":"m","messages":[],"stream":1}',
  ],
  answer: (model, usage) =>
    JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: 'x' }],
      stop_reason: 'end_turn',
      usage,
    }),
  stream: (model) =>
    [
      event({
        type: 'message_start',
        message: {
          type: 'message',
          model,
          content: [],
          usage: {
            input_tokens: 5,
            cache_creation_input_tokens: 4,
            cache_read_input_tokens: 11,
            output_tokens: 1,
          },
        },
      }),
      event({ type: 'ping' }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      ': a comment\n\n',
      delta('Grüße '),
      'event: novelty\ndata: no JSON at all\n\n',
      delta('👋'),
      event({ type: 'content_block_stop', index: 0 }),
      event({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 7, output_tokens_details: { thinking_tokens: 2 } },
      }),
      event({ type: 'message_stop' }),
    ].join(''),
  read: {
    text: 'Grüße 👋',
    tokens: { source: 'reported', input: 20, output: 7, cached_input: 11, cache_write: 4, reasoning: 2 },
  },
  usage: { input_tokens: 'input', output_tokens: 'output' },
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}', '{"content":{}}', '{"choices":[]}'],
  errors: [
    [error('invalid_request_error', 'no'), { message: 'no', code: 'invalid_request_error', status: 400 }],
    [error('overloaded_error', 'no'), { message: 'no', code: 'overloaded_error', status: 529 }],
    [error('timeout_error', 'no'), { message: 'no', code: 'timeout_error', status: 504 }],
    [error('of_tomorrow', 'no'), { message: 'no', code: 'of_tomorrow', status: null }],
    [error(null, 'no'), { message: 'no', code: null, status: null }],
    [error('api_error', 7), null],
    ['{"error":{"message":"no","type":"t","code":"c"}}', null],
    ['{"type":"error","error":"text"}', null],
    ['[]', null],
    ['<html>', null],
    ['', null],
  ],
}
