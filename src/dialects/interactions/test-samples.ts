// Sample traffic of the Interactions API, written by hand from Google's API reference.
import type { Samples } from '../test-sample-type.ts'

const event = (event_type: string, more: object) =>
  `event: ${event_type}\ndata: ${JSON.stringify({ ...more, event_type })}\n\n`
const error = (code: unknown, more: object = {}) =>
  JSON.stringify({ error: { code, message: 'no', ...more } })
const delta = (text: string) => event('step.delta', { index: 1, delta: { type: 'text', text } })

export const samples: Samples = {
  request: (model, stream) =>
    `{"model": ${JSON.stringify(model)}, "input": "hi", "stream": ${stream}, "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  forwarded: ['x-goog-request-params', 'x-gemini-service-tier', 'api-revision'],
  limit: (max_output_tokens) => ({ generation_config: { max_output_tokens } }),
  noRequests: [
    '{}',
    '{"model":7,"input":"x"}',
    '{"model":"","input":"x"}',
    '{"model":"m","input":7}',
    '{"input":"x"}',
  ],
  answer: (model, usage) =>
    JSON.stringify({
      ...{ id: 'v1_1', object: 'interaction', model, status: 'completed' },
      steps: [{ type: 'model_output', content: [{ type: 'text', text: 'x' }] }],
      usage,
    }),
  stream: (model) =>
    [
      event('interaction.created', {
        interaction: { id: 'v1_1', model, status: 'in_progress', object: 'interaction' },
      }),
      event('interaction.status_update', { interaction_id: 'v1_1', status: 'in_progress' }),
      event('step.start', { index: 0, step: { type: 'thought' } }),
      event('step.delta', { index: 0, delta: { type: 'thought_signature', signature: 'c2ln' } }),
      event('step.stop', { index: 0 }),
      ': a comment\n\n',
      event('step.start', { index: 1, step: { type: 'model_output' } }),
      delta('Grüße '),
      event('novelty', { index: 1 }),
      delta('👋'),
      event('step.stop', { index: 1 }),
      event('interaction.completed', {
        interaction: {
          ...{ id: 'v1_1', model, status: 'completed', object: 'interaction' },
          usage: {
            ...{ total_input_tokens: 20, total_cached_tokens: 11, total_output_tokens: 5 },
            ...{ total_thought_tokens: 2, total_tool_use_tokens: 0, total_tokens: 27 },
          },
        },
      }),
      'event: done\ndata: [DONE]\n\n',
    ].join(''),
  read: {
    text: 'Grüße 👋',
    tokens: { source: 'reported', input: 20, output: 7, cached_input: 11, cache_write: null, reasoning: 2 },
  },
  usage: { total_input_tokens: 'input', total_output_tokens: 'output' },
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}', '{"steps":[]}', '{"id":"v1_1"}', '{"choices":[]}'],
  errors: [
    [error('invalid_request'), { message: 'no', code: 'invalid_request', status: 400 }],
    [error('of_a_kind'), { message: 'no', code: 'of_a_kind', status: null }],
    [error(400, { status: 'INVALID_ARGUMENT' }), { message: 'no', code: 'INVALID_ARGUMENT', status: 400 }],
    [error(503, { status: 'UNAVAILABLE' }), { message: 'no', code: 'UNAVAILABLE', status: 503 }],
    [error('two words'), { message: 'no', code: null, status: null }],
    ['{"error":{"code":400}}', null],
    ['{"error":"text"}', null],
    ['[]', null],
    ['<html>', null],
    ['', null],
  ],
}
