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
    }),
  ),
})

export const resolve = {
  path: '/api/cloud/model/resolve',
  summary: 'where a call would go now, without going there; `?model=`',
  query,
  response,
  answer({ model }, _admitted, { router }) {
    const resolution = router.resolve(model)
    if (!resolution)
      throw new GatewayError(
        'model_not_found',
        `No route and no provider/model is called ${JSON.stringify(model)}.`,
        { param: 'model' },
      )
    return resolution
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>
