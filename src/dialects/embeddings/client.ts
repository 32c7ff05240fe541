// Embeddings on the client side. Format: OpenAI API reference, "Embeddings".
import { z } from 'zod'
import { errorSchema } from '../../core/error-schema.ts'
import { estimateTokens } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { ClientDialect } from '../dialect.ts'
import { readFields } from '../request-fields.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: z.string().min(1).max(256),
  input: z.union([z.string(), z.array(z.unknown())], 'expected a text, a list of texts, or tokens'),
})

export const client = {
  name: 'embeddings',
  path: '/v1/embeddings',
  summary: 'live routing of embeddings; spends money',
  operation: 'embeddings',
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',
  staysWithModel: 'vectors of two models do not mix',

  parse({ text, json }) {
    const { model, input } = readFields(schema, json)
    return {
      request: { model, stream: false, text, wantsUsage: true, forwarded: [], query: '' },
      traits: {
        tools: false,
        images: false,
        effort: null,
        get inputTokens() {
          return tokensIn(input)
        },
      },
      sessionHints: [],
    }
  },

  estimateInput: ({ text }) => tokensIn(JSON.parse(text).input),
  cacheIdentity: ({ text }) => canonical(text, []),
  errorBody: (error, requestId) => error.body(requestId),
  errorEvent: (error, requestId) => `data: ${error.body(requestId)}\n\n`,
  renameModel: (json, model) => spliceMembers(json, { model }),
} satisfies ClientDialect

/** Estimates the tokens of texts. Each number counts as one token. */
function tokensIn(input: unknown): number {
  const texts: string[] = []
  let tokens = 0
  const waiting = [input] // not recursive: the sender decides how deep a request is
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'number') tokens++
    else if (Array.isArray(value)) for (const each of value) waiting.push(each)
  }
  return tokens + estimateTokens(texts.join('\n'))
}
