// GET /api/cloud/model/resolve?model=: where a call would go now, without going there (PURE-04).
import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'

const query = z.strictObject({ model: z.string('a logical model id or provider/model is required').min(1) })

const response = z.strictObject({
  model: z.string(),
  route: z.string().nullable(),
  strategy: z.string(),
  tier: z.string().nullable(),
  provider: z.string(),
  resolved_model: z.string(),
  deterministic: z.boolean(),
  depends_on: z.array(z.enum(['session', 'shape', 'dialect', 'load'])),
  candidates: z.array(
    z.strictObject({
      provider: z.string(),
      model: z.string(),
      tier: z.string().nullable(),
      probability: z.number().min(0).max(1),
      state: z.enum(['ready', 'cooling']),
      reason: z.string().nullable(),
      losses: z
        .record(z.string(), z.array(z.string()))
        .describe(
          'Dialects of clients that are translated for this target, and what a few words of plain text would lose.',
        ),
    }),
  ),
})

export const resolve = {
  path: '/api/cloud/model/resolve',
  summary: 'where a call would go now, without going there; `?model=`',
  query,
  response,
  answer({ model }, _admitted, { router, plainLosses }) {
    const resolution = router.resolve(model)
    if (!resolution)
      throw new GatewayError(
        'model_not_found',
        `No route and no provider/model is called ${JSON.stringify(model)}.`,
        { param: 'model' },
      )
    const candidates = resolution.candidates.map((each) => ({
      ...each,
      losses: plainLosses({ provider: each.provider, model: each.model }),
    }))
    return { ...resolution, candidates }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>
