// The catalog in the format of Google's Gemini, and the test for Google's clients.
import { z } from 'zod'
import type { AdmittedRead } from '../http/endpoint.ts'

/** Parameters that such a client sends; the list is short, so it is always complete. */
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
})
export const wantsGoogle = ({ request: { headers }, query }: AdmittedRead): boolean =>
  headers['x-goog-api-client'] !== undefined ||
  headers['x-goog-api-key'] !== undefined ||
  new URLSearchParams(query).has('key')

export const toGoogle = (id: string, description: string) => ({
  name: `models/${id}`,
  displayName: id,
  description,
  supportedGenerationMethods: ['generateContent', 'countTokens'],
})
