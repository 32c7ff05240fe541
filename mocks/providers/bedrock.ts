// Amazon Bedrock: Claude through InvokeModel with AWS's event stream, and Anthropic's and OpenAI's own paths.
// A request is signed with access key AKIAMOCK and the mock's key as its secret, or has the key as a bearer
// token. Format: Amazon Bedrock API reference.
import { clock } from '../../src/shared/clock.ts'
import { createEventStream } from '../dialects/aws-event-stream.ts'
import { openAiAccent, openAiChat } from '../dialects/openai-chat.ts'
import {
  bearer,
  type Endpoint,
  type MockProvider,
  type ProviderRefusal,
  type RefusedRequest,
} from '../provider.ts'
import { bedrockCountTokensBody, bedrockMessagesBody } from '../schemas/anthropic-messages.ts'
import { pydanticFieldError } from '../schemas/field-errors.ts'
import { signatureProblem } from '../server/aws-signature.ts'
import { anthropicCountTokens, anthropicMessages } from './anthropic.ts'

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

const count: Endpoint = {
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

const REFUSALS = {
  bad_key: [403, 'UnrecognizedClientException'],
  invalid_request: [400, 'ValidationException'],
  unknown_model: [404, 'ResourceNotFoundException'],
  unknown_path: [404, 'UnknownOperationException'],
  rate_limited: [429, 'ThrottlingException'],
  overloaded: [503, 'ServiceUnavailableException'],
  server_error: [500, 'InternalServerException'],
} as const satisfies Record<ProviderRefusal, readonly [number, string]>

const refused = (status: number, type: string, message: string): RefusedRequest => ({
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
  endpoints: [invoke, count, anthropicMessages, anthropicCountTokens, openAiChat(openAiAccent)],
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
    return problem ? refused(403, problem.type, problem.message) : 'match'
  },
  refusal: (kind, message) => refused(REFUSALS[kind][0], REFUSALS[kind][1], message),
  invalidField: (field, issue) => `${field.replace(/\[(\d+)\]/g, '.$1')}: ${pydanticFieldError(issue)}`,
  unknownField: (name) => `${name}: Extra inputs are not permitted`,
} satisfies MockProvider
