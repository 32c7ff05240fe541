// GET /api/models/refusals: parameters that providers have refused and that requests therefore leave out
// (FIT-03).
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { learnedUntil } from '../models/learned.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'
import { time } from './schemas.ts'

const response = z.strictObject({
  data: z.array(
    z.strictObject({
      provider: z.string(),
      model: z.string(),
      parameter: z.string(),
      value: z.string().nullable().describe('JSON text of the refused value; null: any'),
      replaced: z.boolean().describe('something else is sent instead, as the provider asked'),
      learned_at: time,
      until: time.describe('when it is forgotten'),
    }),
  ),
})

export const learnedRefusals = {
  path: '/api/models/refusals',
  summary: 'parameters that providers refused, and that requests omit until the refusals are deleted',
  query: noQuery,
  response,
  answer: (_query, _admitted, { learned }) => ({
    data: learned().map(({ isReplaced = false, learned_at, ...refusal }) => ({
      ...refusal,
      replaced: isReplaced,
      learned_at,
      until: learnedUntil(learned_at),
    })),
  }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>
