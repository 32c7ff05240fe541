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

/** The session id of a call, or null. `hints` are what its body says, in the order in which it counts. */
export function sessionOf(headers: IncomingHttpHeaders, hints: readonly unknown[]): string | null {
  for (const name of SESSION_HEADERS) {
    const id = valid(headers[name])
    if (id) return id
  }
  for (const hint of hints) {
    const id = valid(hint)
    if (id) return id
  }
  return null
}

/** Codex names the thread in every call; only that of a subagent is one of its own. */
export const agentOf = (headers: IncomingHttpHeaders): string | null =>
  valid(headers['x-claude-code-agent-id']) ??
  (headers['x-openai-subagent'] ? valid(headers['thread-id']) : null)

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

function valid(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const id = value.trim()
  return id.length > 0 && id.length <= 256 && !CONTROL.test(id) ? id : null
}
