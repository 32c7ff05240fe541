// Azure OpenAI: OpenAI's dialect, with one address for each customer. The deployment in the path is the
// model, and the key is in `api-key`. Every answer has content filter results, and a stream begins with the
// prompt's results.
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

const safe = { filtered: false, severity: 'safe' }
const unseen = { detected: false, filtered: false }
const filters = { hate: safe, self_harm: safe, sexual: safe, violence: safe }
const prompt_filter_results = [{ prompt_index: 0, content_filter_results: { ...filters, jailbreak: unseen } }]

const chat = openAiChat({
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

const REFUSALS = {
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
function refusal(kind: ProviderRefusal, message: string, param: string | null = null): RefusedRequest {
  const [status, code, headers] = REFUSALS[kind]
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
  endpoints: [deployed(chat), deployed(openAiEmbeddings), modelList],
  credential: (request) => request.headers['api-key'] ?? bearer(request),
  lacks({ path, query }) {
    if (!path.startsWith('deployments/') || query.has('api-version')) return null
    return {
      problem: 'no api-version in the query',
      refused: refusal('unknown_path', 'Resource not found'),
    }
  },
  refusal,
  unknownField: (name) => `Unrecognized request argument supplied: ${name}`,
} satisfies MockProvider
