// Errors in Anthropic's format, with its statuses. Format: Anthropic API reference, "Errors".
import { z } from 'zod'
import type { ProviderError } from '../../core/call.ts'
import type { GatewayError } from '../../core/errors.ts'
import { errorCode, isObject, type Json, textOf } from '../json.ts'

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Statuses by error type. For a type with two statuses, the one that Anthropic documents. */
const STATUSES = new Map(
  Object.entries(TYPES).flatMap(([status, type]) => (status === '408' ? [] : [[type, Number(status)]])),
)

const typeOf = ({ status, code }: GatewayError): string =>
  code === 'overloaded'
    ? 'overloaded_error'
    : (TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'))

/** Writes an error that the gateway itself raises. */
export const errorBody = (error: GatewayError, requestId: string): string =>
  JSON.stringify({
    type: 'error',
    error: {
      type: typeOf(error),
      message: error.message,
      ...(error.details && { details: error.details }),
    },
    request_id: requestId,
  })

/** Schema of the body of an error. */
export const errorSchema = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({
    type: z.string(),
    message: z.string(),
    details: z
      .looseObject({ error_code: z.string() })
      .optional()
      .describe('Details for programs, for a thread that cannot be continued or stored.'),
  }),
  request_id: z.string(),
})

/** Reads a provider's error; null for any other format. */
export function errorIn(json: unknown): ProviderError | null {
  if (!isObject(json) || json.type !== 'error' || !isObject(json.error)) return null
  const { type, message } = json.error as Json
  if (typeof message !== 'string') return null
  return { message, code: errorCode(type), status: STATUSES.get(textOf(type)) ?? null }
}
