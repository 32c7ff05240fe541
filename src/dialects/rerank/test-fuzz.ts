// Odd rerank requests, for promises.test.ts.
import fc from 'fast-check'
import { type Fuzz, json, model, openAiError, text } from '../test-fuzz.ts'

export const fuzz: Fuzz = {
  headers: {},
  path: fc.constant('/v1/rerank'),
  beside: ['/v1/rerank/x'],
  body: fc.record(
    { model, query: text, documents: fc.array(fc.oneof(text, json)), top_n: json },
    { requiredKeys: ['model', 'query', 'documents'] },
  ),
  error: openAiError,
}
