// Unusual chat requests, for promises.test.ts.
import fc from 'fast-check'
import { type Fuzz, json, model, openAiError, streamed, text } from '../test-fuzz.ts'

export const fuzz: Fuzz = {
  headers: {},
  path: fc.constant('/v1/chat/completions'),
  beside: ['/v1/completions', '/v1/chat/completions/x'],
  body: fc.record(
    {
      model,
      messages: fc.array(fc.record({ role: fc.string(), content: fc.oneof(text, json) })),
      stream: streamed,
      stream_options: json,
      tools: json,
      response_format: json,
      reasoning_effort: json,
      max_completion_tokens: json,
    },
    { requiredKeys: ['model', 'messages'] },
  ),
  error: openAiError,
}
