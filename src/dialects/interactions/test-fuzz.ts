// Unusual requests of the Interactions API, for promises.test.ts.
import fc from 'fast-check'
import { type Fuzz, json, model, streamed, text } from '../test-fuzz.ts'

const content = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.constantFrom('image', 'audio', 'document'), data: json, uri: json, mime_type: json }),
  json,
)
const step = fc.oneof(
  fc.record({
    type: fc.constantFrom('user_input', 'model_output'),
    content: fc.oneof(text, fc.array(content), json),
  }),
  fc.record({ type: fc.constant('thought'), summary: fc.oneof(fc.array(content), json), signature: json }),
  fc.record({ type: fc.constant('function_call'), id: json, name: json, arguments: json }),
  fc.record({
    type: fc.constant('function_result'),
    call_id: json,
    result: fc.oneof(fc.array(content), json),
  }),
  fc.record({ type: fc.constantFrom('google_search_call', 'novelty'), arguments: json }),
  content,
)

export const fuzz: Fuzz = {
  headers: { 'api-revision': '2026-05-20' },
  path: fc
    .tuple(fc.constantFrom('/v1beta', '/v1', '/v1alpha'), fc.constantFrom('', '?key=k', '?&&=', '?%=%'))
    .map(([version, query]) => `${version}/interactions${query}`),
  beside: ['/v1beta/interactions/x/y', '/v1beta/interaction'],
  body: fc.record(
    {
      model,
      input: fc.oneof(text, fc.array(step), content),
      stream: streamed,
      system_instruction: json,
      tools: fc.oneof(
        fc.array(fc.oneof(fc.record({ type: fc.constant('function'), name: json, parameters: json }), json)),
        json,
      ),
      generation_config: fc.oneof(
        fc.record({ thinking_level: json, tool_choice: json, stop_sequences: json, max_output_tokens: json }),
        json,
      ),
      response_format: json,
      store: fc.boolean(),
    },
    { requiredKeys: ['model', 'input'] },
  ),
  error: ({ error, request_id, ...rest }) => ({
    shaped:
      Object.keys(rest).length === 0 && typeof error.code === 'string' && typeof error.message === 'string',
    id: request_id,
  }),
}
