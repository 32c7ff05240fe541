// Sample embeddings, written by hand from OpenAI's API reference.
import { samples as chat } from '../chat/test-samples.ts'
import type { Samples } from '../test-sample-type.ts'

export const samples: Samples = {
  request: (model) =>
    `{"model": ${JSON.stringify(model)}, "input": ["hi", "ho"], "encoding_format": "base64", "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  limit: null,
  noRequests: [
    '{}',
    '{"model":7,"input":"x"}',
    '{"model":"","input":"x"}',
    '{"model":"m","input":{}}',
    '{"model":"m"}',
  ],
  answer: (model, usage) =>
    JSON.stringify({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: 'zczMPQ==' }],
      model,
      usage,
    }),
  stream: () => '',
  read: {
    text: '',
    tokens: {
      source: 'reported',
      input: 20,
      output: 0,
      cached_input: null,
      cache_write: null,
      reasoning: null,
    },
  },
  usage: { prompt_tokens: 'input' },
  untold: 0,
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}', '{"data":{}}'],
  errors: chat.errors,
}
