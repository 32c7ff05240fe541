// Unusual Messages requests, for promises.test.ts.
import fc from 'fast-check'
import { type Fuzz, json, model, streamed, text } from '../test-fuzz.ts'

export const fuzz: Fuzz = {
  headers: { 'anthropic-version': '2023-06-01' },
  path: fc.constantFrom('/v1/messages', '/v1/messages?beta=true', '/v1/messages/count_tokens'),
  count: /count_tokens/,
  counted: '{"input_tokens":7}',
  beside: ['/v1/messages/batches', '/v1/complete'],
  body: fc.record(
    {
      model,
      max_tokens: fc.integer(),
      messages: fc.array(
        fc.record({
          role: fc.string(),
          content: fc.oneof(
            text,
            fc.array(
              fc.oneof(
                fc.record({ type: fc.constant('text'), text }),
                fc.record({ type: fc.constantFrom('image', 'document'), source: json }),
                fc.record({ type: fc.constant('tool_result'), content: json }),
                json,
              ),
            ),
          ),
        }),
      ),
      stream: streamed,
      system: json,
      tools: json,
      thinking: json,
      output_config: json,
      metadata: fc.oneof(json, fc.record({ user_id: fc.string() })),
    },
    { requiredKeys: ['model', 'messages'] },
  ),
  error: ({ type, error, request_id: id, ...rest }) => ({
    shaped:
      Object.keys(rest).length === 0 &&
      type === 'error' &&
      typeof error.message === 'string' &&
      ['invalid_request_error', 'not_found_error'].includes(error.type),
    id,
  }),
}
