// Errors in OpenAI's shape, which more than one dialect has: how one is read. The gateway's own are written in errors.ts.
// Shapes: OpenAI API reference, "Errors".
import type { ProviderError } from '../call.ts'
import { errorCode, errorStatus, isObject, member } from './json.ts'

/** `error` as an object, or as the bare text that some providers send. */
export function errorOf(error: unknown): ProviderError {
  const code = [member(error, 'code'), member(error, 'type')].find((each) => each != null)
  const message = member(error, 'message') ?? error
  return {
    message: typeof message === 'string' ? message : JSON.stringify(message),
    code: errorCode(code),
    status: errorStatus(code),
  }
}

/** The body of an error status; null when it has another shape. */
export function readError(text: string): ProviderError | null {
  try {
    const error: unknown = member(JSON.parse(text), 'error')
    return isObject(error) && typeof error.message === 'string' ? errorOf(error) : null
  } catch {
    return null
  }
}
