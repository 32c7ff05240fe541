// GET /api/cloud/model/resolve?model=: the current route of a hypothetical call, without making it (PURE-04).
// Parameters can describe the call; the default is a few words of plain text.
import { z } from 'zod'
import { DIALECT_NAMES } from '../config/schema.ts'
import { GatewayError } from '../core/errors.ts'
import { endsIn } from '../core/model-ends.ts'
import { PLAIN } from '../core/request-traits.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { clock } from '../shared/clock.ts'
import type { ReadContext } from './context.ts'
import { costEstimate, time } from './schemas.ts'

const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional()

const query = z.strictObject({
  model: z.string('a logical model id or provider/model is required').min(1),
  tools: flag.describe('the call offers tools'),
  images: flag.describe('the call holds an image'),
  effort: z.string().min(1).optional().describe('the reasoning effort that it asks for'),
  input_tokens: z.coerce.number('expected a number').int().min(0).optional(),
  dialect: z.enum(DIALECT_NAMES).optional().describe('the wire format of the client'),
  session_id: z.string().min(1).optional().describe('the session of the calling key that it belongs to'),
})

const response = z.strictObject({
  model: z.string(),
  route: z.string().nullable(),
  strategy: z.string(),
  tier: z.string().nullable(),
  provider: z.string(),
  resolved_model: z.string(),
  deterministic: z.boolean(),
  depends_on: z.array(z.enum(['session', 'shape', 'dialect', 'load'])),
  estimate: costEstimate.nullable().describe('what it would cost, with the strategy `cheapest`'),
  candidates: z.array(
    z.strictObject({
      provider: z.string(),
      model: z.string(),
      tier: z.string().nullable(),
      probability: z.number().min(0).max(1),
      state: z.enum(['ready', 'cooling']),
      cooling_until: time.nullable(),
      reason: z.string().nullable(),
      ends_on: z.iso
        .date()
        .nullable()
        .describe(
          'The day on which the model ends or has ended, from 60 days before, if its provider announced it.',
        ),
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
  summary:
    'shows where a call would go now, without making it; `?model=`, and properties of the call: `tools`, `images`, `effort`, `input_tokens`, `dialect`, `session_id`',
  query,
  response,
  answer(
    { model, dialect, session_id: sessionId, tools, images, effort, input_tokens: inputTokens },
    { caller },
    { router, plainLosses, config },
  ) {
    const said = [tools, images, effort, inputTokens].some((each) => each !== undefined)
    const traits = {
      tools: tools ?? PLAIN.tools,
      images: images ?? PLAIN.images,
      effort: effort ?? PLAIN.effort,
      inputTokens: inputTokens ?? PLAIN.inputTokens,
    }
    const session = sessionId === undefined ? undefined : { sessionId, keyName: caller.name }
    const resolution = router.resolve(model, said ? traits : undefined, dialect, { session, inputTokens })
    if (!resolution)
      throw new GatewayError(
        'model_not_found',
        `No route and no provider/model is called ${JSON.stringify(model)}.`,
        { param: 'model' },
      )
    const endOf = endsIn(config)
    const candidates = resolution.candidates.map((each) => ({
      ...each,
      ends_on: endOf(`${each.provider}/${each.model}`, clock.now())?.date ?? null,
      losses: plainLosses({ provider: each.provider, model: each.model }),
    }))
    return { ...resolution, candidates }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>
