// GET /api/recordings: the recordings from which a replaying gateway answers, and their metadata. Empty for a live one.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'
import { count } from './schemas.ts'

const response = z.strictObject({
  replay: z.boolean(),
  notes: z.array(z.string()),
  data: z.array(
    z.strictObject({
      name: z.string(),
      provider: z.string(),
      endpoint: z.string(),
      model: z.string().nullable().describe('null: any'),
      stream: z.boolean().nullable().describe('null: either way'),
      scenario: z.string(),
      status: z.int(),
      bytes: count,
      chunks: count,
      origin: z.enum(['recorded', 'authored', 'synthetic']),
      date: z.iso.date(),
      api_version: z.string(),
      shape: z.string(),
    }),
  ),
})

/** One of them, as it is told. */
export type RecordingSummary = z.output<typeof response>['data'][number]

export const recordings = {
  path: '/api/recordings',
  summary: 'with `--replay`, the recordings that answers come from, without their bodies',
  query: noQuery,
  response,
  answer: (_query, _admitted, { replay, recordings: { notes, list } }) => ({ replay, notes, data: list }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>
