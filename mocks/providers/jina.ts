// Jina: ranks documents, and reports the tokens used. An invalid field is a 422 with Pydantic's wording.
import { z } from 'zod'
import { openAiWants } from '../dialects/openai-chat.ts'
import { bearer, type Endpoint, type MockProvider, type ProviderRefusal } from '../provider.ts'
import { fitRerank } from '../recording/fit-others.ts'
import { pydanticFieldError } from '../schemas/field-errors.ts'

const document = z.union([z.string(), z.looseObject({})])

/** Body of `POST rerank`. */
const body = z.looseObject({
  model: z.string().min(1),
  query: document,
  documents: z.array(document).min(1),
  top_n: z.int().min(1).nullish(),
  return_documents: z.boolean().nullish(),
})

const rerank: Endpoint = {
  ...{ method: 'POST', name: 'rerank', body, wants: openAiWants, speech: null, fit: fitRerank },
}

const STATUS = {
  bad_key: 401,
  invalid_request: 422,
  unknown_model: 422,
  unknown_path: 404,
  rate_limited: 429,
  overloaded: 503,
  server_error: 500,
} as const satisfies Record<ProviderRefusal, number>

export const jina = {
  name: 'jina',
  origin: 'https://api.jina.ai',
  basePaths: ['/v1'],
  endpoints: [rerank],
  credential: bearer,
  refusal: (kind, detail) => ({ status: STATUS[kind], headers: {}, body: { detail } }),
  invalidField: (field, issue) => `[body -> ${field}] ${pydanticFieldError(issue)}`,
  unknownField: () => null,
} satisfies MockProvider
