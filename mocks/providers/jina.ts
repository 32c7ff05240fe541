// Jina: ranks documents, and reports the tokens used. An invalid field is a 422 with Pydantic's wording.
import { rerankDocument, rerankEndpoint } from '../dialects/rerank.ts'
import { bearer, type MockProvider, type ProviderRefusal } from '../provider.ts'
import { pydanticFieldError } from '../schemas/field-errors.ts'

const rerank = rerankEndpoint({ query: rerankDocument })

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
