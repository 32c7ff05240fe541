// Reads errors in OpenAI's format, which several dialects share. The gateway's own errors are written in
// errors.ts. Format: OpenAI API reference, "Errors".
import type { ProviderError } from '../core/call.ts'
import { errorCode, errorStatus, isObject, type Json, member } from './json.ts'

/** Parses the `error` member: an object, or the bare text that some providers send. */
export function errorOf(error: unknown): ProviderError {
  const code = [member(error, 'code'), member(error, 'type')].find((each) => each != null)
  const message = member(error, 'message') ?? error
  return {
    message: typeof message === 'string' ? message : JSON.stringify(message),
    code: errorCode(code),
    status: errorStatus(code),
    ...paramOf(error),
  }
}

/**
 * Returns the error in a body without an answer; null if it has none. Besides `error`, servers send their message at the
 * top (vLLM, Mistral) or as `detail` (FastAPI).
 */
export function errorIn(json: Json): ProviderError | null {
  if (json.error != null) return errorOf(json.error)
  if (json.object === 'error' || (typeof json.message === 'string' && json.choices === undefined))
    return errorOf(json)
  return json.detail == null || json.choices !== undefined ? null : errorOf({ message: json.detail })
}

/** Returns the field that an error names. */
export function paramOf(error: unknown): { readonly param?: string } {
  const param = member(error, 'param')
  return typeof param === 'string' && param !== '' ? { param } : {}
}

/** Reads the body of an error response; null for any other format. */
export function readError(text: string): ProviderError | null {
  try {
    const error: unknown = member(JSON.parse(text), 'error')
    return isObject(error) && typeof error.message === 'string' ? errorOf(error) : null
  } catch {
    return null
  }
}
