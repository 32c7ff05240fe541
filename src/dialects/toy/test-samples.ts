// Sample traffic of the toy dialect.
import type { Samples } from '../test-sample-type.ts'

const event = (name: string, json: object) => `event: ${name}\ndata: ${JSON.stringify(json)}\n\n`

export const samples: Samples = {
  request: (model, stream) =>
    `{"say": "hi", "voice": ${JSON.stringify(model)}, "live": ${stream}, "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  limit: null,
  noRequests: ['{}', '{"voice":7,"say":""}', '{"voice":"","say":""}', '{"voice":"m","say":[]}'],
  answer: (model, usage) => JSON.stringify({ voice: model, said: 'x', ...usage }),
  stream: (model) =>
    [
      event('ping', {}),
      event('begin', { voice: model, heard: 20, spoken: 1 }),
      ': a comment\n\n',
      event('word', { w: 'Grüße ' }),
      event('novelty', { x: 1 }),
      event('word', { w: '👋' }),
      event('end', { spoken: 7 }),
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
  usage: { heard: 'input', spoken: 'output' },
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}'],
  errors: [
    ['{"toy_error":{"kind":"k","text":"no"}}', { message: 'no', code: 'k', status: null }],
    ['{"toy_error":{"kind":"k","text":"no","stands_for":529}}', { message: 'no', code: 'k', status: 529 }],
    ['{"toy_error":{"kind":{},"text":"no"}}', { message: 'no', code: null, status: null }],
    ['{"error":{"message":"no"}}', null],
    ['', null],
  ],
}
