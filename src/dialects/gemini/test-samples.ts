// Sample Gemini traffic, written by hand from Google's API reference.
import type { Samples } from '../test-sample-type.ts'

const line = (json: object) => `data: ${JSON.stringify(json)}\r\n\r\n`
const said = (text: string) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] })
const error = (code: unknown, status: unknown, details?: object[]) =>
  JSON.stringify({ error: { code, message: 'no', status, details } })

export const samples: Samples = {
  request: (_, stream) =>
    `{"contents": [{"role":"user","parts":[{"text":"hi"}]}], "generationConfig": {"candidateCount": 1}, "was": ${stream}, "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  arrival: (model, stream) => ({
    path: `/v1beta/models/*:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    rest: model,
    query: stream ? 'alt=sse' : '',
  }),
  forwarded: ['x-goog-request-params', 'x-gemini-service-tier', 'x-goog-api-client'],
  limit: (maxOutputTokens) => ({ generationConfig: { maxOutputTokens } }),
  noRequests: ['{}', '{"contents":"x"}', '{"contents":{}}', '{"contents":null}'],
  answer: (modelVersion, usageMetadata) =>
    JSON.stringify({
      candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata,
      modelVersion,
      responseId: 'r',
    }),
  stream: (modelVersion) =>
    [
      line({ ...said('Grüße '), usageMetadata: { promptTokenCount: 20, totalTokenCount: 20 }, modelVersion }),
      ': a comment\r\n\r\n',
      line({ ...said('👋'), novelty: 1, modelVersion }),
      line({
        candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: {
          promptTokenCount: 20,
          cachedContentTokenCount: 11,
          candidatesTokenCount: 5,
          thoughtsTokenCount: 2,
          totalTokenCount: 27,
        },
        modelVersion,
      }),
    ].join(''),
  read: {
    text: 'Grüße 👋',
    ends: 0,
    tokens: { source: 'reported', input: 20, output: 7, cached_input: 11, cache_write: null, reasoning: 2 },
  },
  usage: { promptTokenCount: 'input', candidatesTokenCount: 'output' },
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}', '[{}]', '{"candidates":{}}', '{"choices":[]}'],
  errors: [
    [error(400, 'INVALID_ARGUMENT'), { message: 'no', code: 'INVALID_ARGUMENT', status: 400 }],
    [`[${error(503, 'UNAVAILABLE')}]`, { message: 'no', code: 'UNAVAILABLE', status: 503 }],
    [
      error(400, 'INVALID_ARGUMENT', [{ '@type': 'x' }, { reason: 'API_KEY_INVALID' }]),
      { message: 'no', code: 'API_KEY_INVALID', status: 401 },
    ],
    [error(429, null), { message: 'no', code: '429', status: 429 }],
    [error('x', 'two words'), { message: 'no', code: null, status: null }],
    ['{"error":{"code":400}}', null],
    ['{"error":"text"}', null],
    ['[]', null],
    ['<html>', null],
    ['', null],
  ],
}
