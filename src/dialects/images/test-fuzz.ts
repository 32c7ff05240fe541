// Unusual image requests, for promises.test.ts.
import fc from 'fast-check'
import { type Fuzz, json, model, openAiError, streamed, text } from '../test-fuzz.ts'

export const fuzz: Fuzz = {
  headers: {},
  path: fc.constant('/v1/images/generations'),
  beside: ['/v1/images/edits', '/v1/images/variations'],
  body: fc.record(
    { model, prompt: fc.oneof(text, text, json), stream: streamed, n: json, size: json },
    { requiredKeys: ['model', 'prompt'] },
  ),
  error: openAiError,
}
