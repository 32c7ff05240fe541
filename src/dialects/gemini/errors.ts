// Writes and reads errors in Google's format, and maps its RPC statuses to those of HTTP. Format: Google API
// design guide, "Errors"; Gemini API reference.
import { z } from 'zod'
import type { ProviderError } from '../../core/call.ts'
import type { GatewayError } from '../../core/errors.ts'
import { errorCode, errorStatus, isObject, member } from '../json.ts'

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  504: 'DEADLINE_EXCEEDED',
}

const statusOf = (status: number): string =>
  STATUSES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE')

const detail = (type: string, fields: object) => ({
  '@type': `type.googleapis.com/google.rpc.${type}`,
  ...fields,
})

/** Writes an error that the gateway itself raises. Clients read the waiting time from `RetryInfo`. */
export const errorBody = (error: GatewayError, requestId: string): string =>
  JSON.stringify({
    error: {
      code: error.status === 529 ? 503 : error.status, // Google's overload status
      message: error.message,
      status: statusOf(error.status),
      details: [
        detail('ErrorInfo', { reason: error.code.toUpperCase(), domain: 'waybill' }),
        detail('RequestInfo', { requestId }),
        ...(error.retryAfter === null ? [] : [detail('RetryInfo', { retryDelay: `${error.retryAfter}s` })]),
      ],
    },
  })

/** Schema of an error's body. */
export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.int(),
    message: z.string(),
    status: z.string(),
    details: z.array(z.looseObject({ '@type': z.string() })),
  }),
})

/** Google's reason in a 400 for a wrong key. */
const WRONG_KEY = 'API_KEY_INVALID'

/** Reads a provider's error, alone or in a list, as in a stream without SSE; null for any other format. */
export function errorIn(json: unknown): ProviderError | null {
  const error = member(Array.isArray(json) ? json[0] : json, 'error')
  if (!isObject(error) || typeof error.message !== 'string') return null
  const { message, code, status, details } = error
  const isWrongKey = Array.isArray(details) && details.some((each) => member(each, 'reason') === WRONG_KEY)
  return {
    message,
    code: isWrongKey ? WRONG_KEY : errorCode(status ?? code),
    status: isWrongKey ? 401 : errorStatus(code),
  }
}
