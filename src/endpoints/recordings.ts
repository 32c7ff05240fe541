// GET /api/recordings: metadata of a replaying gateway's recordings. A live gateway returns an empty list.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'
import { recordingSummary } from './schemas.ts'

const response = z.strictObject({
  replay: z.boolean(),
  notes: z.array(z.string()),
  data: z.array(recordingSummary),
})

export const recordings = {
  path: '/api/recordings',
  summary: 'with `--replay`, the recordings without their bodies',
  query: noQuery,
  response,
  answer: (_query, _admitted, { replay, recordings: { notes, list } }) => ({ replay, notes, data: list }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>
