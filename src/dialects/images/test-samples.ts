// Sample image traffic, written by hand from OpenAI's API reference.
import { samples as chat } from '../chat/test-samples.ts'
import type { Samples } from '../test-sample-type.ts'

const event = (json: { type: string; [name: string]: unknown }) =>
  `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`

export const samples: Samples = {
  request: (model, stream) =>
    `{"model": ${JSON.stringify(model)}, "prompt": "a waybill", "stream": ${stream}, "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  limit: null,
  noRequests: [
    '{}',
    '{"model":7,"prompt":"x"}',
    '{"model":"","prompt":"x"}',
    '{"model":"m","prompt":[]}',
    '{"model":"m","prompt":"x","stream":1}',
  ],
  answer: (model, usage) => JSON.stringify({ created: 1, data: [{ b64_json: 'AA==' }], model, usage }),
  stream: (model) =>
    [
      event({ type: 'image_generation.partial_image', model, partial_image_index: 0, b64_json: 'AA==' }),
      ': a comment\n\n',
      event({
        type: 'image_generation.completed',
        b64_json: 'AAAA',
        usage: { input_tokens: 20, output_tokens: 7, input_tokens_details: { text_tokens: 20 } },
      }),
    ].join(''),
  read: {
    text: '',
    ends: 0,
    tokens: {
      source: 'reported',
      input: 20,
      output: 7,
      cached_input: null,
      cache_write: null,
      reasoning: null,
      images: 1,
      served: { kinds: { output_image: 7 } },
    },
  },
  usage: { input_tokens: 'input', output_tokens: 'output' },
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}', '{"data":{}}'],
  errors: chat.errors,
}
