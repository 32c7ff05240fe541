// Cohere: ranks documents by their relevance to a query, in version 2 and version 1 of its API. An error is
// only a message.
import { z } from 'zod'
import { rerankDocument, rerankEndpoint } from '../dialects/rerank.ts'
import { bearer, type MockProvider, type ProviderRefusal } from '../provider.ts'

const rerank = rerankEndpoint({
  documents: z.array(rerankDocument).min(1).max(1000), // version 1 also accepts objects
  max_tokens_per_doc: z.int().min(1).nullish(),
  priority: z.int().min(0).max(999).nullish(),
  rank_fields: z.array(z.string()).nullish(),
})

const STATUS = {
  bad_key: 401,
  invalid_request: 400,
  unknown_model: 404,
  unknown_path: 404,
  rate_limited: 429,
  overloaded: 503,
  server_error: 500,
} as const satisfies Record<ProviderRefusal, number>

export const cohere = {
  name: 'cohere',
  origin: 'https://api.cohere.com',
  basePaths: ['/v2', '/v1'],
  endpoints: [rerank],
  credential: bearer,
  refusal: (kind, message) => ({ status: STATUS[kind], headers: {}, body: { id: 'mock', message } }),
  invalidField: (field, issue) =>
    `invalid request: ${field} ${issue.code === 'invalid_type' && issue.input === undefined ? 'must be provided' : 'is invalid'}`,
  unknownField: () => null,
} satisfies MockProvider
