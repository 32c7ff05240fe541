// Clouds that serve the dialects of other providers: Azure, Amazon Bedrock and Google's Vertex AI.

import { clock } from '../../src/shared/clock.ts'
import { createEventStream, signatureProblem } from '../dialects/aws.ts'
import {
  modelList,
  openAiAccent,
  openAiChat,
  openAiEmbeddings,
  openAiWants,
} from '../dialects/openai-chat.ts'
import {
  bearer,
  type Endpoint,
  event,
  type MockProvider,
  type ProviderRefusal,
  type RefusedRequest,
} from '../provider.ts'
import {
  bedrockCountTokensBody,
  bedrockMessagesBody,
  vertexMessagesBody,
} from '../schemas/anthropic-messages.ts'
import { pydanticFieldError } from '../schemas/refusals.ts'
import { anthropicCountTokens, anthropicMessages } from './anthropic.ts'
import { gemini } from './gemini.ts'

// Azure OpenAI: OpenAI's dialect, with one address for each customer. The deployment in the path is the model, and the key
// is in `api-key`. Every answer has content filter results, and a stream begins with the prompt's results.

const safe = { filtered: false, severity: 'safe' }
const unseen = { detected: false, filtered: false }
const filters = { hate: safe, self_harm: safe, sexual: safe, violence: safe }
const prompt_filter_results = [{ prompt_index: 0, content_filter_results: { ...filters, jailbreak: unseen } }]

const azureChat = openAiChat({
  ...openAiAccent,
  opening: [event({ choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results })],
  also: (where) => (where === 'whole' ? { prompt_filter_results } : {}),
})

/** Adds a path with the deployment to an endpoint; there, the deployment is the model. */
const deployed = (endpoint: Endpoint): Endpoint => ({
  ...endpoint,
  alsoAt: [`deployments/{model}/${endpoint.name}`],
  wants(request, { model }) {
    const wanted = openAiWants(request)
    return { ...wanted, model: model ?? wanted.model }
  },
})

const AZURE_REFUSALS = {
  bad_key: [401, '401', {}],
  invalid_request: [400, null, {}],
  unknown_model: [404, 'DeploymentNotFound', {}],
  unknown_path: [404, '404', {}],
  rate_limited: [429, 'RateLimitReached', { 'retry-after': '1', 'retry-after-ms': '1000' }],
  overloaded: [503, 'ServiceUnavailable', {}],
  server_error: [500, 'InternalServerError', {}],
} as const satisfies Record<
  ProviderRefusal,
  readonly [number, string | null, Readonly<Record<string, string>>]
>

/**
 * Formats an error. Azure's own services send a code and a message; the model behind them uses OpenAI's
 * format.
 */
function azureRefusal(kind: ProviderRefusal, message: string, param: string | null = null): RefusedRequest {
  const [status, code, headers] = AZURE_REFUSALS[kind]
  const error =
    kind === 'invalid_request'
      ? { message, type: 'invalid_request_error', param, code }
      : { code, message, ...(kind === 'rate_limited' && { details: message }) }
  return { status, headers, body: { error } }
}

export const azure = {
  name: 'azure',
  origin: 'https://waybill.openai.azure.com',
  origins: /^https:\/\/[\w-]+\.(openai|services\.ai|cognitiveservices)\.azure\.com$/,
  basePaths: ['/openai/v1', '/openai', '/models'],
  endpoints: [deployed(azureChat), deployed(openAiEmbeddings), modelList],
  credential: (request) => request.headers['api-key'] ?? bearer(request),
  lacks({ path, query }) {
    if (!path.startsWith('deployments/') || query.has('api-version')) return null
    return {
      problem: 'no api-version in the query',
      refused: azureRefusal('unknown_path', 'Resource not found'),
    }
  },
  refusal: azureRefusal,
  unknownField: (name) => `Unrecognized request argument supplied: ${name}`,
} satisfies MockProvider

// Amazon Bedrock: Claude through InvokeModel with AWS's event stream, and Anthropic's and OpenAI's own paths. A request is
// signed with access key AKIAMOCK and the mock's key as its secret, or has the key as a bearer token. Format: Amazon
// Bedrock API reference.

const MOCK_ACCESS_KEY_ID = 'AKIAMOCK'

const invoke: Endpoint = {
  ...anthropicMessages,
  name: 'model/{model}/invoke',
  alsoAt: ['model/{model}/invoke-with-response-stream'],
  body: bedrockMessagesBody,
  speech: { ...anthropicMessages.speech!, dialect: null },
  wants: (request, { model = null }: Readonly<Record<string, string | null>>) => ({
    ...anthropicMessages.wants(request, {}),
    model,
    stream: request.path.endsWith('/invoke-with-response-stream'),
  }),
  encoder: createEventStream,
}

const bedrockCount: Endpoint = {
  ...anthropicCountTokens,
  name: 'model/{model}/count-tokens',
  body: bedrockCountTokensBody,
  wants: (_, { model = null }: Readonly<Record<string, string | null>>) => ({
    model,
    stream: false,
    usage: false,
    tools: false,
  }),
}

const BEDROCK_REFUSALS = {
  bad_key: [403, 'UnrecognizedClientException'],
  invalid_request: [400, 'ValidationException'],
  unknown_model: [404, 'ResourceNotFoundException'],
  unknown_path: [404, 'UnknownOperationException'],
  rate_limited: [429, 'ThrottlingException'],
  overloaded: [503, 'ServiceUnavailableException'],
  server_error: [500, 'InternalServerException'],
} as const satisfies Record<ProviderRefusal, readonly [number, string]>

const bedrockRefusal = (status: number, type: string, message: string): RefusedRequest => ({
  status,
  headers: {
    'x-amzn-requestid': '00000000-0000-4000-8000-000000000000',
    'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`,
  },
  body: { message },
})

export const bedrock = {
  name: 'bedrock',
  origin: 'https://bedrock-runtime.us-east-1.amazonaws.com',
  origins: /^https:\/\/bedrock-(runtime\.[\w-]+\.amazonaws\.com|mantle\.[\w-]+\.api\.aws)$/,
  basePaths: ['/anthropic/v1', '/openai/v1', ''],
  endpoints: [invoke, bedrockCount, anthropicMessages, anthropicCountTokens, openAiChat(openAiAccent)],
  isHost: true,
  credential: (request) =>
    bearer(request) ?? request.headers['x-api-key'] ?? request.headers.authorization ?? null,
  verify(request, key) {
    if (!request.headers.authorization?.startsWith('AWS4-')) return null
    const problem = signatureProblem(request, {
      accounts: [{ accessKeyId: MOCK_ACCESS_KEY_ID, secretAccessKey: key }],
      services: ['bedrock', 'bedrock-mantle'],
      now: clock.now(),
    })
    return problem ? bedrockRefusal(403, problem.type, problem.message) : 'match'
  },
  refusal: (kind, message) => bedrockRefusal(BEDROCK_REFUSALS[kind][0], BEDROCK_REFUSALS[kind][1], message),
  invalidField: (field, issue) => `${field.replace(/\[(\d+)\]/g, '.$1')}: ${pydanticFieldError(issue)}`,
  unknownField: (name) => `${name}: Extra inputs are not permitted`,
} satisfies MockProvider

// Google's Vertex AI: Gemini and Claude below the path of a project. The key is an access token.

const PLACE = 'projects/{project}/locations/{location}/publishers'

const vertexClaude: Endpoint = {
  ...anthropicMessages,
  name: `${PLACE}/anthropic/models/{model}:rawPredict`,
  alsoAt: [`${PLACE}/anthropic/models/{model}:streamRawPredict`],
  body: vertexMessagesBody,
  wants: (request, { model = null }: Readonly<Record<string, string | null>>) => ({
    ...anthropicMessages.wants(request, {}),
    model,
  }),
}

const vertexCount: Endpoint = {
  ...anthropicCountTokens,
  name: `${PLACE}/anthropic/models/count-tokens:rawPredict`,
}

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
  endpoints: [vertexCount, vertexClaude, ...ofGoogle],
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
