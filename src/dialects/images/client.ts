// Images on the client side. Format: OpenAI API reference, "Images" and "Image streaming".
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
  prompt: z.string(),
  stream: z.boolean().nullish(),
})

export const client = {
  name: 'images',
  path: '/v1/images/generations',
  summary: 'live routing of images, streamed or not; spends money',
  operation: 'image_generation',
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',

  parse({ text, json }) {
    const { model, prompt, stream } = readFields(schema, json)
    return {
      request: { model, stream: stream === true, text, wantsUsage: true, forwarded: [], query: '' },
      traits: {
        tools: false,
        images: false,
        effort: null,
        get inputTokens() {
          return estimateTokens(prompt)
        },
      },
      sessionHints: [],
    }
  },

  estimateInput: ({ text }) => estimateTokens(JSON.parse(text).prompt),
  cacheIdentity: ({ text }) => canonical(text, ['stream']),
  errorBody: (error, requestId) => error.body(requestId),
  errorEvent: (error, requestId) => `event: error\ndata: ${error.body(requestId)}\n\n`,
  renameModel: (json, model) => spliceMembers(json, { model }),
} satisfies ClientDialect
