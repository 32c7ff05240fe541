// Gemini on the client side: reads requests and writes errors. Format: Gemini API reference, "Generating content" and
// "Counting tokens".
import { z } from 'zod'
import { canonical } from '../../json/canonical.ts'
import { mapElements, spliceMembers } from '../../json/splice.ts'
import { withoutKey } from '../../shared/query-key.ts'
import type { ArrivedRequest, ClientDialect } from '../dialect.ts'
import { readFields } from '../request-fields.ts'
import { errorBody, errorSchema } from './errors.ts'
import { estimateAll } from './input.ts'
import { kept } from './kept.ts'
import { GeminiTraits } from './traits.ts'

/** Google's clients use different API versions. */
const VERSIONS = ['v1beta', 'v1', 'v1alpha']
const at = (verb: string) => VERSIONS.map((version) => `/${version}/models/*:${verb}`)
const [PATH = '', ...ALSO_AT] = [...at('generateContent'), ...at('streamGenerateContent')]
const [COUNT_PATH = '', ...COUNT_ALSO_AT] = at('countTokens')

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({ contents: z.array(z.unknown()) })
/** A counting request holds contents or a whole request. */
const countSchema = z.object({
  contents: z.array(z.unknown()).optional(),
  generateContentRequest: z.looseObject({}).optional(),
})
const modelSchema = z.string().min(1).max(256)

export const client = {
  name: 'gemini',
  path: PATH,
  alsoAt: ALSO_AT,
  keyParameter: 'key',
  summary: "live routing of Google's Gemini, whole or as a stream of events (`?alt=sse`); spends money",
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',

  parse({ text, json, headers, path, rest, query }) {
    readFields(path.endsWith(':countTokens') ? countSchema : schema, json)
    const model = readFields(modelSchema, rest, 'model')
    return {
      request: {
        model,
        stream: new URLSearchParams(query).getAll('alt').includes('sse'),
        text,
        wantsUsage: true,
        forwarded: dialectHeaders(headers),
        query: withoutKey(query),
        path,
      },
      traits: new GeminiTraits(json),
      sessionHints: [],
    }
  },

  kept,

  estimateInput: ({ text }) => new GeminiTraits(JSON.parse(text)).inputTokens,

  // The path holds the model. Without server-sent events, a streamed answer still differs from a whole
  // answer.
  cacheIdentity({ text, model, forwarded, query, stream, path }) {
    const body = canonical(text, [])
    return body === null
      ? null
      : JSON.stringify([model, stream || path, forwarded.filter(isMeant), query, body])
  },

  isSpokenBy: (headers) =>
    headers['x-goog-api-client'] !== undefined || headers['x-goog-api-key'] !== undefined,
  counting: {
    path: COUNT_PATH,
    alsoAt: COUNT_ALSO_AT,
    summary: 'counts the tokens of a Gemini request, by a provider or as an estimate; no call, no cost',
    schema: countSchema.loose(),
    estimate: (json) => JSON.stringify({ totalTokens: estimateAll(json) }),
  },

  errorBody,
  errorEvent: (error, requestId) => `data: ${errorBody(error, requestId)}\n\n`,

  // Without server-sent events, a stream is a list of answers.
  renameModel: (json, model) => {
    const rename = (answer: string) =>
      'modelVersion' in JSON.parse(answer) ? spliceMembers(answer, { modelVersion: model }) : answer
    return Array.isArray(JSON.parse(json)) ? mapElements(json, rename) : rename(json)
  },
} satisfies ClientDialect

/** Google's headers for credentials, impersonation and billing. Only the provider's entry may set them. */
const CREDENTIALS = /^x-goog-(api-key|user-project|iam-.+|authenticated-user-.+)$/

/** Returns all other Google headers, including unknown ones. */
const dialectHeaders = (headers: ArrivedRequest['headers']): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    /^x-(goog|gemini)-/.test(name) && !CREDENTIALS.test(name) && value !== undefined
      ? [name, String(value)]
      : [],
  )

/** Skips headers (name and value) that identify the client but do not affect the answer. */
const isMeant = (_: string, at: number, all: readonly string[]): boolean =>
  !/^x-(goog-api-client|gemini-api-privileged-user-id)$/.test(all[at - (at % 2)]!)
