// Parts that the CAT checks share.
import { z } from 'zod'

/** OpenAI's model list; gateways may add fields. */
export const modelListSchema = z.looseObject({
  object: z.literal('list'),
  data: z.array(z.looseObject({ id: z.string().min(1), object: z.literal('model') })),
})
