// Sample chat completions, written by hand from OpenAI's API reference.
import type { Samples } from '../test-sample-type.ts'

const event = (json: object) => `data: ${JSON.stringify(json)}\n\n`
const choice = (delta: object, finish_reason: string | null = null) => [{ index: 0, delta, finish_reason }]

export const samples: Samples = {
  request: (model, stream) =>
    `{"model": ${JSON.stringify(model)}, "messages": [{"role":"user","content":"hi"}], "stream": ${stream}, "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  limit: (max_completion_tokens) => ({ max_completion_tokens }),
  noRequests: [
    '{}',
    '{"model":7,"messages":[]}',
    '{"model":"","messages":[]}',
    '{"model":"m","messages":"x"}',
  ],
  answer: (model, usage) =>
    JSON.stringify({
      model,
      choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }],
      usage,
    }),
  stream: (model) =>
    [
      event({ model, choices: choice({ role: 'assistant' }) }),
      ': a comment\n\n',
      event({ model, choices: choice({ content: 'Grüße ' }) }),
      event({ model, choices: choice({ content: '👋' }) }),
      event({ model, choices: choice({}, 'stop') }),
      event({ model, choices: [], usage: { prompt_tokens: 20, completion_tokens: 7 } }),
      'data: [DONE]\n\n',
    ].join(''),
  read: {
    text: 'Grüße 👋',
    tokens: {
      source: 'reported',
      input: 20,
      output: 7,
      cached_input: null,
      cache_write: null,
      reasoning: null,
    },
  },
  usage: { prompt_tokens: 'input', completion_tokens: 'output' },
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}', '{"choices":{}}'],
  errors: [
    ['{"error":{"message":"no","type":"t","code":"c"}}', { message: 'no', code: 'c', status: null }],
    ['{"error":{"message":"no","type":"t","code":null}}', { message: 'no', code: 't', status: null }],
    ['{"error":{"message":"no","code":429}}', { message: 'no', code: '429', status: 429 }],
    ['{"error":{"message":"no","code":429.5}}', { message: 'no', code: '429.5', status: null }],
    ['{"error":{"message":"no","code":1e400}}', { message: 'no', code: 'Infinity', status: null }],
    ['{"error":{"message":"no","code":"two words"}}', { message: 'no', code: null, status: null }],
    ['{"error":{"message":7}}', null],
    ['{"error":"text"}', null],
    ['[]', null],
    ['<html>', null],
    ['', null],
  ],
}
