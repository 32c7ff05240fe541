// Rerank on the client side. Format: Jina AI API reference, "Reranker".
import { z } from 'zod'
import { errorSchema } from '../../core/error-schema.ts'
import { GatewayError } from '../../core/errors.ts'
import { estimateTokens } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { spliceMembers } from '../../json/splice.ts'
import type { ClientDialect } from '../dialect.ts'

/** Fields that the gateway itself needs; the provider validates all others, which are not even copied. */
const schema = z.object({
  model: z.string().min(1).max(256),
  query: z.string(),
  documents: z.array(z.unknown()),
})

export const client = {
  name: 'rerank',
  path: '/v1/rerank',
  summary: 'live routing of rerank; spends money',
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',
  staysWithModel: 'scores of two models do not compare',

  parse({ text, json }) {
    const parsed = schema.safeParse(json)
    if (!parsed.success) {
      const { path, message } = parsed.error.issues[0]!
      const param = path.join('.')
      throw new GatewayError('invalid_request', `${param}: ${message}`, { param })
    }
    const { model } = parsed.data
    return {
      request: { model, stream: false, text, wantsUsage: true, forwarded: [], query: '' },
      traits: {
        tools: false,
        images: false,
        effort: null,
        get inputTokens() {
          return tokensIn(parsed.data)
        },
      },
      sessionHints: [],
    }
  },

  estimateInput: ({ text }) => tokensIn(JSON.parse(text)),
  cacheIdentity: ({ text }) => canonical(text, []),
  errorBody: (error, requestId) => error.body(requestId),
  errorEvent: (error, requestId) => `data: ${error.body(requestId)}\n\n`,
  renameModel: (json, model) => spliceMembers(json, { model }),
} satisfies ClientDialect

/** Returns the estimated tokens of the question and of each text, whether bare or under `text`. */
function tokensIn({ query, documents }: Pick<z.output<typeof schema>, 'query' | 'documents'>): number {
  const texts = documents.map((each) =>
    typeof each === 'string' ? each : String((each as { text?: unknown } | null)?.text ?? ''),
  )
  return estimateTokens([query, ...texts].join('\n'))
}
