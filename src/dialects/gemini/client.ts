// Gemini on the client side: reads requests and writes errors. Format: Gemini API reference, "Generating content" and
// "Counting tokens".
import { z } from 'zod'
import type { RequestTraits } from '../../core/request-traits.ts'
import { estimateTokens } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { mapElements, spliceMembers } from '../../json/splice.ts'
import { withoutKey } from '../../shared/plain-address.ts'
import type { ArrivedRequest, ClientDialect } from '../dialect.ts'
import { isObject, type Json } from '../json.ts'
import { isGoogleFile, type KeptKind, type MemberPath, places } from '../kept.ts'
import { BodyTraits, modelSchema, openingOf, readFields } from '../request-fields.ts'
import { errorBody, errorSchema } from './errors.ts'
import { either, estimateAll, inputOf } from './read-request.ts'

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

/** Google's headers for credentials, impersonation and billing. Only the provider's entry may set them. */
const CREDENTIALS = /^x-goog-(api-key|user-project|iam-.+|authenticated-user-.+)$/

/** Returns all other Google headers, including unknown ones. */
export const dialectHeaders = (headers: ArrivedRequest['headers']): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    /^x-(goog|gemini)-/.test(name) && !CREDENTIALS.test(name) && value !== undefined
      ? [name, String(value)]
      : [],
  )

/** Skips headers (name and value) that identify the client but do not affect the answer. */
export const isMeant = (_: string, at: number, all: readonly string[]): boolean =>
  !/^x-(goog-api-client|gemini-api-privileged-user-id)$/.test(all[at - (at % 2)]!)

export class GeminiTraits extends BodyTraits implements RequestTraits {
  get tools(): boolean {
    return listOf(this.body.tools).length > 0
  }

  /** Includes images returned by a tool. */
  protected findImages(): boolean {
    return partsOf(this.body).some(
      (part) => isImage(part) || listOf(either(either(part, 'functionResponse'), 'parts')).some(isImage),
    )
  }

  /** Effort from the thinking level, or else from the thinking budget. Null if the model chooses the budget. */
  get effort(): string | null {
    const thinking = either(either(this.body, 'generationConfig'), 'thinkingConfig')
    const level = either(thinking, 'thinkingLevel')
    if (typeof level === 'string') return level.toLowerCase()
    const budget = either(thinking, 'thinkingBudget')
    if (typeof budget !== 'number' || budget < 0) return null
    return budget === 0
      ? 'none'
      : budget <= MAX_LOW_TOKENS
        ? 'low'
        : budget <= MAX_MEDIUM_TOKENS
          ? 'medium'
          : 'high'
  }

  /** True if a thought is signed. Only the provider that signed a thought accepts it. */
  get opaqueReasoning(): boolean {
    return partsOf(this.body).some((part) => either(part, 'thoughtSignature') !== undefined)
  }

  get opening(): string {
    const { tools, contents } = this.body
    return openingOf(tools, either(this.body, 'systemInstruction'), contents)
  }

  protected countInput(): number {
    return estimateTokens(inputOf(this.body).text)
  }
}

/** Maximum thinking tokens that count as this effort. */
const MAX_LOW_TOKENS = 4_096
const MAX_MEDIUM_TOKENS = 16_384

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const partsOf = ({ contents }: Json): unknown[] =>
  listOf(contents).flatMap((content) => (isObject(content) ? listOf(content.parts) : []))

function isImage(part: unknown): boolean {
  const data = either(part, 'inlineData') ?? either(part, 'fileData')
  const type = either(data, 'mimeType')
  return typeof type === 'string' && type.startsWith('image/')
}

/** Returns the given places of a request or of a request to count, with each member in both spellings. */
const eitherCase = (...paths: readonly string[]): readonly MemberPath[] =>
  places(...paths, ...paths.map((path) => `generateContentRequest.${path}`)).flatMap((place) =>
    place.reduce<MemberPath[]>(
      (begun, name) => begun.flatMap((names) => casesOf(name).map((each) => [...names, each])),
      [[]],
    ),
  )

const casesOf = (name: string): string[] => [
  ...new Set([name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
]

export const kept: readonly KeptKind[] = [
  {
    what: 'the cached content',
    onRecord: 'object',
    at: eitherCase('cachedContent'),
    isConversation: true,
    instead: 'all of it',
  },
  {
    what: 'the file',
    onRecord: 'object',
    at: eitherCase(
      'contents.*.parts.*.fileData.fileUri',
      'contents.*.parts.*.functionResponse.parts.*.fileData.fileUri',
      'systemInstruction.parts.*.fileData.fileUri',
    ),
    isId: isGoogleFile,
    instead: 'its content as `inlineData`',
  },
  {
    what: 'the file search store',
    at: eitherCase('tools.*.fileSearch.fileSearchStoreNames.*'),
    instead: 'what is to be searched',
  },
]

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
  // Google's Python client takes every line that is not empty and does not begin with `data: ` as part of an error.
  comment: '\n',

  // Without server-sent events, a stream is a list of answers.
  renameModel: (json, model) => {
    const rename = (answer: string) =>
      'modelVersion' in JSON.parse(answer) ? spliceMembers(answer, { modelVersion: model }) : answer
    return Array.isArray(JSON.parse(json)) ? mapElements(json, rename) : rename(json)
  },
} satisfies ClientDialect
