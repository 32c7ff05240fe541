// Schema of an error's body. Separate from errors.ts, because the store's threads need no schemas and loading
// zod took half of their start-up time.
import { z } from 'zod'

/** Schema of `GatewayError.body`, in OpenAI's format. */
export const errorSchema = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
  request_id: z.string(),
})
