// Reads the session and the agent of a call from the client's own data; invents nothing. See the contract's
// section "Headers".
import type { IncomingHttpHeaders } from 'node:http'

/** Headers with a session id, each sent by one or more coding clients. The first valid value is used. */
const SESSION_HEADERS = [
  'x-gateway-session-id',
  'x-claude-code-session-id',
  'x-opencode-session',
  'session-id',
  'session_id',
  'x-session-id',
  'x-session-affinity',
]

/** Returns the session id of a call, or null. `hints`: values from its body, in order of precedence. */
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

/** Codex names the thread in every call. Only a subagent's thread counts as an agent. */
export const agentOf = (headers: IncomingHttpHeaders): string | null =>
  valid(headers['x-claude-code-agent-id']) ??
  (headers['x-openai-subagent'] ? valid(headers['thread-id']) : null)

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

function valid(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const id = value.trim()
  return id.length > 0 && id.length <= 256 && !CONTROL.test(id) ? id : null
}
