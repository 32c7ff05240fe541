// Parts of a Messages request that clouds place elsewhere, and the dialect's errors. Pure.
import type { ProviderRequest } from '../dialects/dialect.ts'
import { memberText, omitMembers } from '../json/splice.ts'

interface MessagesRequest {
  /** Path before `/v1/messages`. */
  readonly base: string
  readonly model: string
  readonly stream: boolean
  /** True for a counting request. */
  readonly isCount: boolean
  /** Version for the body, as JSON. Null for the first version, because each cloud has its own name for it. */
  readonly version: string | null
  /** Values of `anthropic-beta`. */
  readonly betas: readonly string[]
  /** Body without `model`. Everything else keeps its bytes. */
  readonly body: string
  /** Headers without the version, the betas and `x-api-key`. Clouds expect the key as a bearer token. */
  readonly headers: readonly string[]
}

/** The first version. Each cloud names it by the date of its own first version. */
const FIRST_VERSION = '2023-06-01'

const PATH = /^(.*)\/v\d+\/messages(\/count_tokens)?(?:\?.*)?$/

export function messagesRequest({ path, headers, body }: ProviderRequest): MessagesRequest {
  const [, base = '', count] = PATH.exec(path) ?? []
  const kept: string[] = []
  const betas: string[] = []
  let version: string | null = null
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at]?.toLowerCase(), headers[at + 1]]
    if (name === 'anthropic-beta') betas.push(...value.split(',').flatMap((beta) => beta.trim() || []))
    else if (name === 'x-api-key') kept.push('authorization', `Bearer ${value}`)
    else if (name !== 'anthropic-version') kept.push(name, value)
    else if (value !== FIRST_VERSION) version = JSON.stringify(value)
  }
  return {
    base,
    model: JSON.parse(memberText(body, 'model') ?? '""'),
    stream: memberText(body, 'stream')?.trim() === 'true',
    isCount: count !== undefined,
    version,
    betas: [...new Set(betas)],
    body: omitMembers(body, [['model']]),
    headers: kept,
  }
}

/** Types of errors in the Messages dialect. */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'overloaded_error'
  | 'timeout_error'
  | 'api_error'

export const messagesError = (type: ErrorType, message: string): string =>
  JSON.stringify({ type: 'error', error: { type, message } })
