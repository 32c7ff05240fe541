// Unusual Gemini requests, for promises.test.ts.
import fc from 'fast-check'
import { type Fuzz, json, text } from '../test-fuzz.ts'

export const fuzz: Fuzz = {
  headers: { 'x-goog-api-client': 'google-genai-sdk/9' },
  path: fc
    .tuple(
      fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom('auto', 'alpha/m', 'alpha%2Fm', 'alpha/x%20y', 'auto') },
        {
          weight: 1,
          arbitrary: fc.constantFrom('nowhere', 'alpha/', '__proto__', '%', '%2e%2e', 'auto:auto'),
        },
        { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 9 }).map(encodeURIComponent) },
      ),
      fc.constantFrom('generateContent', 'streamGenerateContent', 'countTokens'),
      fc.oneof(
        fc.constantFrom('', '?alt=sse', '?alt=sse', '?alt=json', '?alt=sse&alt=x', '?&&=', '?%=%', '?key=k'),
        fc.string({ maxLength: 9 }).map((query) => `?${encodeURI(query).replaceAll('#', '')}`),
      ),
    )
    .map(([model, verb, query]) => `/v1beta/models/${model}:${verb}${query}`),
  count: /:countTokens/,
  counted: '{"totalTokens":7}',
  beside: ['/v1beta/models/auto:generateContent', '/v1beta/models/auto:embedContent'],
  body: fc.record(
    {
      contents: fc.array(
        fc.record({
          role: fc.string(),
          parts: fc.array(
            fc.oneof(
              fc.record({ text }),
              fc.record({ inlineData: json }),
              fc.record({ functionCall: json, thoughtSignature: fc.string() }),
              fc.record({ functionResponse: json }),
              json,
            ),
          ),
        }),
      ),
      model: json,
      systemInstruction: json,
      tools: json,
      generationConfig: json,
      generation_config: fc.record({ thinking_config: json }),
      generateContentRequest: json,
    },
    { requiredKeys: ['contents'] },
  ),
  error: ({ error, ...rest }, status) => ({
    shaped: Object.keys(rest).length === 0 && error.code === status && typeof error.message === 'string',
    id: error.details[1].requestId,
  }),
  countsAlways: true,
}
