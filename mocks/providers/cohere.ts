// Cohere: ranks documents by their relevance to a query, in version 2 and version 1 of its API. An error is
// only a message.
import { z } from 'zod'
import { openAiWants } from '../dialects/openai-chat.ts'
import { bearer, type Endpoint, type MockProvider, type ProviderRefusal } from '../provider.ts'
import { fitRerank } from '../recording/fit-others.ts'

/** Body of `POST rerank`. Version 1 also accepts documents as objects. */
const body = z.looseObject({
  model: z.string().min(1),
  query: z.string().min(1),
  documents: z
    .array(z.union([z.string(), z.looseObject({})]))
    .min(1)
    .max(1000),
  top_n: z.int().min(1).nullish(),
  max_tokens_per_doc: z.int().min(1).nullish(),
  priority: z.int().min(0).max(999).nullish(),
  return_documents: z.boolean().nullish(),
  rank_fields: z.array(z.string()).nullish(),
})

const rerank: Endpoint = {
  ...{ method: 'POST', name: 'rerank', body, wants: openAiWants, speech: null, fit: fitRerank },
}

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
