// Google's Vertex AI: Gemini and Claude below the path of a project. The key is an access token.
import { bearer, type Endpoint, type MockProvider } from '../provider.ts'
import { vertexMessagesBody } from '../schemas/anthropic-messages.ts'
import { pydanticFieldError } from '../schemas/field-errors.ts'
import { anthropicCountTokens, anthropicMessages } from './anthropic.ts'
import { gemini } from './gemini.ts'

const PLACE = 'projects/{project}/locations/{location}/publishers'

const claude: Endpoint = {
  ...anthropicMessages,
  name: `${PLACE}/anthropic/models/{model}:rawPredict`,
  alsoAt: [`${PLACE}/anthropic/models/{model}:streamRawPredict`],
  body: vertexMessagesBody,
  wants: (request, { model = null }: Readonly<Record<string, string | null>>) => ({
    ...anthropicMessages.wants(request, {}),
    model,
  }),
}

const count: Endpoint = { ...anthropicCountTokens, name: `${PLACE}/anthropic/models/count-tokens:rawPredict` }

/** Gemini's endpoints, below a project. */
const ofGoogle = gemini.endpoints
  .filter(({ method }) => method === 'POST')
  .map(
    (endpoint: Endpoint): Endpoint => ({
      ...endpoint,
      name: `${PLACE}/google/${endpoint.name}`,
      ...(endpoint.alsoAt && { alsoAt: endpoint.alsoAt.map((path) => `${PLACE}/google/${path}`) }),
    }),
  )

export const vertex = {
  name: 'vertex',
  origin: 'https://aiplatform.googleapis.com',
  origins: /^https:\/\/[\w-]+-aiplatform\.googleapis\.com$/,
  basePaths: ['/v1beta1', '/v1'],
  endpoints: [count, claude, ...ofGoogle],
  isHost: true,
  credential: bearer,
  refusal(kind, message, ...rest) {
    if (kind !== 'bad_key') return gemini.refusal(kind, message, ...(rest as []))
    return {
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="https://accounts.google.com/"' },
      body: {
        error: {
          code: 401,
          message:
            'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
          status: 'UNAUTHENTICATED',
        },
      },
    }
  },
  invalidField: (field, issue) => `${field.replace(/\[(\d+)\]/g, '.$1')}: ${pydanticFieldError(issue)}`,
  unknownField: (name) => `${name}: Extra inputs are not permitted`,
} satisfies MockProvider
