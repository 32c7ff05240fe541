// Which session and which agent a call belongs to: what clients send, and nothing invented. Contract "Headers".
import type { IncomingHttpHeaders } from 'node:http'

/** First that is valid wins; each is what one or more coding clients send. */
const SESSION_HEADERS = [
  'x-gateway-session-id',
  'x-claude-code-session-id',
  'x-opencode-session',
  'session-id',
  'session_id',
  'x-session-id',
  'x-session-affinity',
]

/** The session id of a call, or null. `body` is the parsed request. */
export function sessionOf(
  headers: IncomingHttpHeaders,
  body: Readonly<Record<string, unknown>>,
): string | null {
  for (const name of SESSION_HEADERS) {
    const id = valid(headers[name])
    if (id) return id
  }
  return valid(fromMetadata(body.metadata)) ?? valid(body.prompt_cache_key)
}

const SUFFIX = '_session_'

export const agentOf = (headers: IncomingHttpHeaders): string | null =>
  valid(headers['x-claude-code-agent-id'])

/** `metadata.user_id`: JSON with a `session_id`, or a text that ends in `_session_<id>`. */
function fromMetadata(metadata: unknown): unknown {
  const userId = (metadata as { user_id?: unknown } | null | undefined)?.user_id
  if (typeof userId !== 'string') return null
  try {
    return (JSON.parse(userId) as { session_id?: unknown } | null)?.session_id
  } catch {
    const at = userId.lastIndexOf(SUFFIX)
    return at < 0 ? null : userId.slice(at + SUFFIX.length)
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

function valid(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const id = value.trim()
  return id.length > 0 && id.length <= 256 && !CONTROL.test(id) ? id : null
}
