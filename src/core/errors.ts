// All errors that the gateway itself sends: one class, one body format, one table of codes; and the error of a
// configuration. Independent of HTTP servers, providers and storage.

/** HTTP status and OpenAI error type of each code. See "Errors" in the contract. */
export const CODES = {
  invalid_json: [400, 'invalid_request_error'],
  invalid_request: [400, 'invalid_request_error'],
  dialect_not_spoken: [400, 'invalid_request_error'],
  previous_response_not_found: [400, 'invalid_request_error'],
  translation_lossy: [400, 'invalid_request_error'],
  state_provider_unknown: [400, 'invalid_request_error'],
  thread_unsupported_request: [400, 'invalid_request_error'],
  invalid_api_key: [401, 'invalid_request_error'],
  forbidden: [403, 'permission_error'],
  host_not_allowed: [403, 'permission_error'],
  price_unknown: [403, 'permission_error'],
  model_not_found: [404, 'invalid_request_error'],
  not_found: [404, 'invalid_request_error'],
  thread_not_found: [404, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  request_timeout: [408, 'invalid_request_error'],
  body_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  upgrade_refused: [426, 'invalid_request_error'],
  rate_limited: [429, 'rate_limit_error'],
  budget_exceeded: [429, 'insufficient_quota'],
  client_closed: [499, 'invalid_request_error'],
  internal: [500, 'server_error'],
  response_unreadable: [500, 'server_error'],
  upstream_unreachable: [502, 'upstream_error'],
  upstream_invalid: [502, 'upstream_error'],
  upstream_refused: [502, 'upstream_error'],
  upstream_error: [502, 'upstream_error'],
  log_unavailable: [503, 'server_error'],
  overloaded: [503, 'server_error'],
  no_target_available: [503, 'server_error'],
  upstream_timeout: [504, 'upstream_error'],
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof CODES

/**
 * A failure with an error code from the contract. The message tells the client what happened and what to do.
 * It never contains a secret or a body.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly status: number
  readonly type: string
  /** The request field at fault, as in OpenAI's `error.param`. */
  readonly param: string | null
  /** Seconds after which a retry may succeed; null if not known. */
  readonly retryAfter: number | null
  /** False if the same request will fail until `retryAfter`, a distant time. Null if unknown. */
  readonly mayRetry: boolean | null
  /** Details for programs, in dialects with a member for details in their errors. */
  readonly details: Readonly<Record<string, unknown>> | null

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      param?: string
      status?: number
      retryAfter?: number
      mayRetry?: boolean
      details?: Readonly<Record<string, unknown>>
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.status = options.status ?? CODES[code][0]
    this.type = CODES[code][1]
    this.param = options.param ?? null
    this.retryAfter = options.retryAfter ?? null
    this.mayRetry = options.mayRetry ?? null
    this.details = options.details ?? null
  }

  /** Returns the error body. The body is the same on every route. */
  body(requestId: string): string {
    const { message, type, param, code } = this
    return JSON.stringify({ error: { message, type, param, code }, request_id: requestId })
  }
}

/** Converts any thrown value to a GatewayError. An unknown error becomes an opaque `internal`. */
export function asGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  return new GatewayError('internal', 'The gateway failed; its process log says why under this request id.', {
    cause: thrown,
  })
}

/** Builds the error for a missing previous answer, with OpenAI's code, which clients check. */
export const previousResponseNotFound = (why: string): GatewayError =>
  new GatewayError(
    'previous_response_not_found',
    `The previous response is not found: ${why}. Send the whole conversation instead.`,
    { param: 'previous_response_id' },
  )

/** Returns the error for a request that becomes too large with the conversation before it. */
export const conversationTooLong = (limit: number): GatewayError =>
  new GatewayError(
    'body_too_large',
    `The conversation before this request is larger than ${limit} bytes, which no request may be. Send a shorter one, or let the operator raise server.body_limit.`,
    { param: 'previous_response_id' },
  )

/** Thrown for a configuration that cannot be used. `problems` are complete lines for a person. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}
