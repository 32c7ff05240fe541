// Reads the purpose of a call from its client's headers; infers nothing from the text. Contract DIAL-10.
import type { IncomingHttpHeaders } from 'node:http'
import type { Purpose } from '../core/call.ts'
import type { RequestTraits } from '../core/request-traits.ts'

/** Headers that state a purpose, with their parsers (null: none). The first purpose found is used. */
const TOLD: readonly (readonly [header: string, says: (value: string) => Purpose | null])[] = [
  ['x-codex-turn-metadata', turnOf], // Codex
  ['x-openai-subagent', () => 'subagent'], // Codex
  ['x-claude-code-agent-id', () => 'subagent'], // Claude Code
  ['x-parent-session-id', () => 'subagent'], // opencode
]

/** Clients whose conversations always offer tools. A call without tools is a title or a similar task. */
const ALWAYS_WITH_TOOLS = [
  'x-claude-code-session-id',
  'x-session-affinity', // opencode
  'x-initiator', // GitHub Copilot
  'x-gemini-api-privileged-user-id', // from Gemini CLI, while its statistics are enabled
]

/** A call without any such header is a turn of a main conversation. */
export function purposeOf(headers: IncomingHttpHeaders, { tools }: Pick<RequestTraits, 'tools'>): Purpose {
  for (const [header, says] of TOLD) {
    const value = headers[header]
    const purpose = typeof value === 'string' && value !== '' ? says(value) : null
    if (purpose) return purpose
  }
  return !tools && ALWAYS_WITH_TOOLS.some((header) => headers[header]) ? 'background' : 'main'
}

/** Codex describes each of its calls as a JSON object. */
function turnOf(value: string): Purpose | null {
  try {
    const { request_kind: kind, thread_source: source } = JSON.parse(value)
    if (kind === 'compaction') return 'compaction'
    if (source === 'subagent') return 'subagent'
    // `user` is a turn; `thread_title` and other values are separate tasks.
    return source === undefined || source === 'user' ? null : 'background'
  } catch {
    return null
  }
}
