// Unusual Responses requests, for promises.test.ts.
import fc from 'fast-check'
import { type Fuzz, json, model, openAiError, streamed, text } from '../test-fuzz.ts'

export const fuzz: Fuzz = {
  headers: { originator: 'codex_exec', 'session-id': 's' },
  path: fc.constant('/v1/responses'),
  beside: ['/v1/responses/resp_1', '/v1/responses/resp_1/input_items'],
  body: fc.record(
    {
      model,
      input: fc.oneof(
        text,
        fc.array(
          fc.oneof(
            fc.record({ role: fc.string(), content: fc.oneof(text, json) }),
            fc.record({ type: fc.constant('function_call_output'), output: json }),
            fc.record({
              type: fc.constantFrom('reasoning', 'compaction'),
              encrypted_content: json,
              content: json,
            }),
            json,
          ),
        ),
      ),
      stream: streamed,
      previous_response_id: fc.constantFrom(null, null, null, '', 'resp_of_nobody'),
      store: json,
      tools: json,
      reasoning: json,
      instructions: json,
      prompt_cache_key: json,
    },
    { requiredKeys: ['model', 'input'] },
  ),
  error: openAiError,
}
