// The catalog in Google Gemini's format, and the test that recognizes Google's clients.
import { z } from 'zod'
import type { AdmittedRead } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { limitsOf } from './model-limits.ts'

/** Parameters that a Google client sends. The list is short, so it is always complete. */
export const googleQuery = {
  pageSize: z.string().optional().describe("Sent by Google's clients; the list is always complete."),
  pageToken: z.string().optional().describe("Sent by Google's clients; the list is always complete."),
  key: z.string().optional().describe("The gateway key, as Google's clients may send it."),
}

export const googleEntry = z.strictObject({
  name: z.string(),
  displayName: z.string(),
  description: z.string(),
  supportedGenerationMethods: z.array(z.string()),
  inputTokenLimit: z.int().optional(),
  outputTokenLimit: z.int().optional(),
  thinking: z.boolean().optional(),
})

export const wantsGoogle = ({ request: { headers }, query }: AdmittedRead): boolean =>
  headers['x-goog-api-client'] !== undefined ||
  headers['x-goog-api-key'] !== undefined ||
  new URLSearchParams(query).has('key')

export const toGoogle = (id: string, { config, factsOf }: Pick<ReadContext, 'config' | 'factsOf'>) => {
  const { context, output, thinking } = limitsOf(id, config, factsOf)
  return {
    name: `models/${id}`,
    displayName: id,
    description: config.routes[id]?.description ?? '',
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    ...(context !== null && { inputTokenLimit: context }),
    ...(output !== null && { outputTokenLimit: output }),
    ...(thinking && { thinking: thinking.some((way) => way !== 'off') }),
  }
}
