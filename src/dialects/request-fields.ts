// Reads the request fields that the gateway itself needs. The provider validates all other fields.
import type { ZodType, z } from 'zod'
import { GatewayError } from '../core/errors.ts'

/**
 * Returns the fields of a schema. Throws GatewayError `invalid_request` for the first mistake; `place`
 * prefixes its path.
 */
export function readFields<Schema extends ZodType>(
  schema: Schema,
  json: unknown,
  place = '',
): z.output<Schema> {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  const param = place || path.join('.')
  throw new GatewayError('invalid_request', `${param}: ${message}`, { param })
}
