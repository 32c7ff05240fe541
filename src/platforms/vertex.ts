// Claude on Google's Vertex AI. The path holds the model, and errors may have Google's format. Streams have
// the dialect's format. Format: Vertex AI documentation, "Use Anthropic's Claude models".

import type { Platform } from '../dialects/dialect.ts'
import { isObject, member } from '../dialects/json.ts'
import { spliceMembers } from '../json/splice.ts'
import { type ErrorType, messagesError, messagesRequest } from './messages.ts'

const VERSION = JSON.stringify('vertex-2023-10-16')

export const vertexPlatform = {
  place(request) {
    const { base, model, stream, isCount, version, betas, body, headers } = messagesRequest(request)
    const named = isCount ? 'count-tokens' : encoded(model)
    const method = stream ? 'streamRawPredict' : 'rawPredict'
    return {
      path: `${base}/models/${named}:${method}`,
      headers: [...headers, ...(betas.length > 0 ? ['anthropic-beta', betas.join()] : [])],
      body: spliceMembers(body, {
        anthropic_version: (before) => before ?? version ?? VERSION,
        ...(isCount && { model: JSON.stringify(model) }),
      }),
    }
  },

  whole(status, _, text) {
    if (status < 400) return null
    const error = errorIn(text)
    return error && messagesError(TYPES[error.status] ?? 'api_error', error.message)
  },
} satisfies Platform

/** Encodes a model's name for the path. The `@` before a version stays unencoded. */
const encoded = (model: string): string => encodeURIComponent(model).replaceAll('%40', '@')

/** Error types by Google's names. */
const TYPES: Readonly<Record<string, ErrorType>> = {
  INVALID_ARGUMENT: 'invalid_request_error',
  FAILED_PRECONDITION: 'invalid_request_error',
  OUT_OF_RANGE: 'invalid_request_error',
  UNAUTHENTICATED: 'authentication_error',
  PERMISSION_DENIED: 'permission_error',
  NOT_FOUND: 'not_found_error',
  RESOURCE_EXHAUSTED: 'rate_limit_error',
  UNAVAILABLE: 'overloaded_error',
  DEADLINE_EXCEEDED: 'timeout_error',
}

/** Returns an error in Google's format, alone or inside a list; null for any other format. */
function errorIn(text: string): { status: string; message: string } | null {
  try {
    const [json]: unknown[] = [JSON.parse(text)].flat()
    const error = isObject(json) ? json.error : null
    const [status, message] = [member(error, 'status'), member(error, 'message')]
    return typeof status === 'string' && typeof message === 'string' ? { status, message } : null
  } catch {
    return null
  }
}
