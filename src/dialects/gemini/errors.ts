// Errors in Google's shape: which status of RPC stands for which of HTTP, how one is written and how one is read. Shapes:
// Google API design guide, "Errors"; Gemini API reference.
import { z } from 'zod'
import type { ProviderError } from '../../call.ts'
import type { GatewayError } from '../../errors.ts'
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

/** An error of the gateway itself. Clients that wait read how long from `RetryInfo`. */
export const errorBody = (error: GatewayError, requestId: string): string =>
  JSON.stringify({
    error: {
      code: error.status === 529 ? 503 : error.status, // Google says overload so, and its clients look for it
      message: error.message,
      status: statusOf(error.status),
      details: [
        detail('ErrorInfo', { reason: error.code.toUpperCase(), domain: 'waybill' }),
        detail('RequestInfo', { requestId }),
        ...(error.retryAfter === null ? [] : [detail('RetryInfo', { retryDelay: `${error.retryAfter}s` })]),
      ],
    },
  })

/** The shape of that body. */
export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.int(),
    message: z.string(),
    status: z.string(),
    details: z.array(z.looseObject({ '@type': z.string() })),
  }),
})

/** What Google says with a 400 about a key that is wrong. */
const WRONG_KEY = 'API_KEY_INVALID'

/** A provider's error, alone or as the only one of a list, as a stream that is no event stream has it; null for what has another shape. */
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
