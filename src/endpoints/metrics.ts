// GET /metrics: metrics for Prometheus. The totals cover all keys, so with keys they are for admins only.
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'

const response = z.string()

export const metrics = {
  path: '/metrics',
  summary: 'counters and histograms for Prometheus; with keys, for admins only',
  query: noQuery,
  mediaType: 'text/plain; version=0.0.4; charset=utf-8',
  response,
  answer(_query, { caller }, { metrics }) {
    if (caller.role !== 'admin')
      throw new GatewayError(
        'forbidden',
        'These figures are totals over all keys, so they need an admin key.',
      )
    return metrics()
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>
