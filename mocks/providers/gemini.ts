// Gemini: model and method are in the path, and a stream's lines end in CR and LF. Every event reports the usage so far, a
// bad key is a 400, and the time to wait after a 429 is in the body. Its request schemas have the fields of the public API
// reference, in camelCase or snake_case, as Gemini allows.
import { z } from 'zod'
import { parseExact } from '../../src/shared/exact-json.ts'
import { googleInteractions, keptInteractions } from '../dialects/google-interactions.ts'
import type {
  Arrived,
  Endpoint,
  MockProvider,
  MockUsage,
  ModelOutput,
  ProviderRefusal,
  Speech,
  Wants,
} from '../provider.ts'
import { conversation, geminiConversation, pydanticFieldError } from '../schemas/refusals.ts'
import { GeminiObjectStore, geminiObjectEndpoints } from '../stored-objects/gemini.ts'

/**
 * Returns the schema of a provider's object: `inline_data` is checked like `inlineData`. The content of the
 * caller's own objects is not checked.
 */
const message = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess(
    (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).map(([name, member]) => [camelCase(name), member]))
        : value,
    z.looseObject(shape),
  )

const camelCase = (name: string): string => name.replace(/_([a-z\d])/g, (_, letter) => letter.toUpperCase())

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Returns the fields of a body in both spellings. */
const inBothSpellings = <Shape extends z.ZodRawShape>(shape: Shape) => ({
  ...Object.fromEntries(Object.entries(shape).map(([name, field]) => [snakeCase(name), z.optional(field)])),
  ...shape,
})

/** Part with one content: text, a call, a result, or data. Other types are accepted. */
const part = message({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  functionCall: message({ name: z.string().min(1), args: z.looseObject({}).optional() }).optional(),
  functionResponse: message({ name: z.string().min(1), response: z.looseObject({}) }).optional(),
  inlineData: message({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: message({ fileUri: z.string() }).optional(),
})

const content = message({
  role: z.enum(['user', 'model', 'function']).optional(),
  parts: z.array(part),
})

const contents = z.array(content).min(1)

const tool = message({
  functionDeclarations: z
    .array(z.looseObject({ name: z.string().regex(/^[A-Za-z_][\w.:-]{0,127}$/) }))
    .optional(),
})

const generationConfig = message({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().min(1).optional(),
  candidateCount: z.int().min(1).max(8).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  stopSequences: z.array(z.string()).max(5).optional(),
  responseMimeType: z.string().optional(),
  responseModalities: z.array(z.string()).optional(),
  responseLogprobs: z.boolean().optional(),
  logprobs: z.int().min(0).max(20).optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  seed: z.int().optional(),
  thinkingConfig: message({
    includeThoughts: z.boolean().optional(),
    thinkingBudget: z.int().min(-1).optional(),
  }).optional(),
})

/** Body of `POST models/{model}:generateContent` and `:streamGenerateContent`. */
export const geminiGenerateBody = z
  .looseObject(
    inBothSpellings({
      contents,
      cachedContent: z.string().optional(),
      generationConfig: generationConfig.optional(),
      labels: z.record(z.string(), z.string()).optional(),
      model: z.string().optional(),
      safetySettings: z.array(message({ category: z.string(), threshold: z.string() })).optional(),
      serviceTier: z.string().optional(),
      store: z.boolean().optional(),
      systemInstruction: content.optional(),
      toolConfig: message({}).optional(),
      tools: z.array(tool).optional(),
    }),
  )
  .superRefine(conversation(geminiConversation))

/** Body of `POST models/{model}:countTokens`: only contents, or a whole request. */
export const geminiCountTokensBody = z.looseObject(
  inBothSpellings({
    contents: contents.optional(),
    generateContentRequest: geminiGenerateBody.optional(),
  }),
)

/** Finish reasons. A tool call ends with STOP, as text does. */
const FINISH_REASONS = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
} as const satisfies Record<ModelOutput['finish'], string>

/**
 * Formats usage. Thoughts are counted separately from the candidates; cached tokens are part of the prompt.
 */
const usageOf = ({ input, output, cached, reasoning }: MockUsage) => ({
  promptTokenCount: input,
  candidatesTokenCount: output - reasoning,
  totalTokenCount: input + output,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  ...(cached > 0 && { cachedContentTokenCount: cached }),
  ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
})

/** Returns a call as one part: Gemini never splits a call, even in a stream. */
const callPart = ({ name, arguments: pieces }: ModelOutput['calls'][number]) => ({
  functionCall: { name, args: parseExact(pieces.join('') || '{}') },
})

const answer = (said: ModelOutput, parts: readonly object[], last: boolean) => ({
  candidates: [
    {
      content: { parts, role: 'model' },
      ...(last && { finishReason: FINISH_REASONS[said.finish] }),
      index: 0,
    },
  ],
  ...(said.usage && { usageMetadata: usageOf(said.usage) }),
  modelVersion: said.model,
  responseId: 'mock',
})

const line = (data: unknown): string => `data: ${JSON.stringify(data)}\r\n\r\n`

const speech: Speech = {
  dialect: 'gemini',
  streamType: 'text/event-stream',
  // Gemini sends no keepalive; every reader of event streams must accept a comment.
  keepAlive: ': keep-alive\r\n\r\n',
  failure: (message) => line({ error: { code: 500, message, status: 'INTERNAL' } }),

  whole(said) {
    const thought = said.reasoning.join('')
    const text = said.text.join('')
    const parts = [
      ...(thought ? [{ text: thought, thought: true }] : []),
      ...(text ? [{ text }] : []),
      ...said.calls.map(callPart),
    ]
    return answer(said, parts, true)
  },

  events(said) {
    const thinking: ModelOutput = { ...said, usage: said.usage && { ...said.usage, output: 0, reasoning: 0 } }
    // Current models end a text with an empty part.
    const last = said.calls.length > 0 ? said.calls.map(callPart) : [{ text: '' }]
    const steps: object[][] = [...said.text.map((text) => [{ text }]), last]
    return [
      ...said.reasoning.map((text) => line(answer(thinking, [{ text, thought: true }], false))),
      ...steps.map((parts, index) => line(answer(said, parts, index === steps.length - 1))),
    ]
  },
}

const wantsSchema = z
  .object({
    tools: z.array(z.unknown()).catch([]),
    contents: z
      .array(z.object({ parts: z.array(z.looseObject({})).catch([]) }).catch({ parts: [] }))
      .catch([]),
  })
  .catch({ tools: [], contents: [] })

function wants({ json, path }: Arrived, { model = null }: Readonly<Record<string, string | null>>): Wants {
  const { tools, contents } = wantsSchema.parse(json)
  const answered = contents.some(({ parts }) => parts.some((part) => 'functionResponse' in part))
  return {
    model,
    stream: path.endsWith(':streamGenerateContent'),
    usage: true,
    tools: tools.length > 0 && !answered,
  }
}

const generate: Endpoint = {
  method: 'POST',
  name: 'models/{model}:generateContent',
  alsoAt: ['models/{model}:streamGenerateContent'],
  body: geminiGenerateBody,
  wants,
  speech,
}

const countTokens: Endpoint = {
  method: 'POST',
  name: 'models/{model}:countTokens',
  body: geminiCountTokensBody,
  wants: (request, params) => ({ ...wants(request, params), tools: false }),
  speech: null,
}

const models: Endpoint = {
  method: 'GET',
  name: 'models',
  body: null,
  wants: () => ({ model: null, stream: false, usage: false, tools: false }),
  speech: null,
}

const REFUSALS = {
  bad_key: [400, 'INVALID_ARGUMENT', { reason: 'API_KEY_INVALID', domain: 'googleapis.com' }],
  invalid_request: [400, 'INVALID_ARGUMENT', null],
  unknown_model: [404, 'NOT_FOUND', null],
  unknown_path: [404, 'NOT_FOUND', null],
  rate_limited: [429, 'RESOURCE_EXHAUSTED', { retryDelay: '2s' }],
  overloaded: [503, 'UNAVAILABLE', null],
  server_error: [500, 'INTERNAL', null],
} as const satisfies Record<ProviderRefusal, readonly [number, string, object | null]>

/** Formats an error detail as Google's services do. */
const detail = (fields: object) => ({
  '@type': `type.googleapis.com/google.rpc.${'retryDelay' in fields ? 'RetryInfo' : 'ErrorInfo'}`,
  ...fields,
})

export const gemini = {
  name: 'gemini',
  origin: 'https://generativelanguage.googleapis.com',
  basePaths: ['/v1beta', '/v1', '/upload/v1beta', '/upload/v1'],
  endpoints: [generate, countTokens, googleInteractions, models, ...geminiObjectEndpoints],
  keeps: keptInteractions,
  objectStore: () => new GeminiObjectStore(),
  credential: ({ headers, query }) => headers['x-goog-api-key'] ?? query.get('key'),
  refusal(kind, message) {
    const [status, name, fields] = REFUSALS[kind]
    return {
      status,
      headers: {},
      body: { error: { code: status, message, status: name, ...(fields && { details: [detail(fields)] }) } },
    }
  },
  invalidField: (field, issue) => `Invalid value at '${field}': ${pydanticFieldError(issue)}`,
  unknownField: (name) => `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`,
} satisfies MockProvider
