// Ranks documents by their relevance to a query: the endpoint that Cohere and Jina have in common.
import { z } from 'zod'
import type { Endpoint } from '../provider.ts'
import { fitRerank } from '../recording/fit-others.ts'
import { openAiWants } from './openai-chat.ts'

/** A text, or an object with fields of its own. */
export const rerankDocument = z.union([z.string(), z.looseObject({})])

/** Makes the endpoint. `own`: fields that only this provider has, or that it validates differently. */
export const rerankEndpoint = (own: z.ZodRawShape): Endpoint => ({
  ...{ method: 'POST', name: 'rerank', wants: openAiWants, speech: null, fit: fitRerank },
  body: z.looseObject({
    model: z.string().min(1),
    query: z.string().min(1),
    documents: z.array(rerankDocument).min(1),
    top_n: z.int().min(1).nullish(),
    return_documents: z.boolean().nullish(),
    ...own,
  }),
})
