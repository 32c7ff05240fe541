// Unusual embeddings requests, for promises.test.ts.
import fc from 'fast-check'
import { type Fuzz, json, model, openAiError, text } from '../test-fuzz.ts'

export const fuzz: Fuzz = {
  headers: {},
  path: fc.constant('/v1/embeddings'),
  beside: ['/v1/embeddings/x'],
  body: fc.record(
    {
      model,
      input: fc.oneof(text, fc.array(text), json),
      encoding_format: json,
      dimensions: json,
      user: json,
    },
    { requiredKeys: ['model', 'input'] },
  ),
  error: openAiError,
}
