// Reads from a call's headers its client, its purpose (DIAL-10), its session and its agent (the contract's section
// "Headers"). Invents nothing, and infers nothing from the text. Independent of the record.
import type { IncomingHttpHeaders } from 'node:http'
import type { Purpose } from '../core/call.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import { GATEWAY_KEY_HEADER } from '../credentials/caller-credential.ts'
import { recent } from '../shared/memory.ts'
import type { Mask } from '../shared/redact.ts'

/** Maximum characters of a client's name on record. */
const MAX_CLIENT = 128
/** Maximum characters that are read, because clients choose the length. */
const MAX_READ = 2_048
/** Maximum names in the cache. */
const MAX_REMEMBERED = 1_000

/** Headers in which a caller may send its gateway key or its own credential. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', GATEWAY_KEY_HEADER]
/** Prefixes of known keys: this gateway's and those of providers, code forges and clouds. */
const KNOWN_KEY =
  /\b(?:(?:sk|pk|rk|wb|gsk|xai|gh[a-z]|glpat|xox[a-z])[-_]|hf_|github_pat_|AIza|AKIA|ASIA|eyJ)[\w-]{16,}/g
/** Pattern of possibly random text. Names and versions of programs contain no such long runs. */
const LONG_RUN = /[A-Za-z0-9_+=]{24,}/g
/** Control characters, and characters that reverse or hide text. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}]+/gu

/**
 * Returns a function that reads the program from a call's headers. Its result is bounded and contains no
 * secrets.
 */
export function createClientOf(mask: Mask): (headers: IncomingHttpHeaders) => string | null {
  const remembered = recent<{ readonly client: string | null }>(MAX_REMEMBERED)
  return (headers) => {
    const sent = headers['user-agent']
    if (sent === undefined) return null
    const text = withoutOwnKey(sent.slice(0, MAX_READ), headers)
    const known = remembered.get(text)
    if (known) return known.client
    const client = readable(text, mask)
    remembered.set(text, { client })
    return client
  }
}

function readable(text: string, mask: Mask): string | null {
  const masked = mask(decoded(text))
    .replace(KNOWN_KEY, '***')
    .replace(LONG_RUN, (run) => (/\d/.test(run) && /[a-z]/i.test(run) ? '***' : run))
  const shown = masked.replace(CONTROL, ' ').trim().slice(0, MAX_CLIENT)
  return shown.replace(/\p{Cs}$/u, '').trim() || null // a lone surrogate has no UTF-8 form
}

/** Decodes UTF-8 in a header, which Node reads as one character per byte. */
function decoded(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text
  const read = Buffer.from(text, 'latin1').toString('utf8')
  return read.includes('\ufffd') ? text : read
}

/** Removes a key that the same request sends in other headers, in any format. */
function withoutOwnKey(text: string, headers: IncomingHttpHeaders): string {
  let rest = text
  for (const name of KEY_HEADERS) {
    const value = headers[name]
    const key = typeof value === 'string' ? value.replace(/^[\w-]+ +/, '') : ''
    if (key.length >= 8 && rest.includes(key)) rest = rest.replaceAll(key, '***')
  }
  return rest
}

/** Headers that state a purpose, with their parsers (null: none). The first purpose found is used. */
const TOLD: readonly { readonly header: string; readonly says: (value: string) => Purpose | null }[] = [
  { header: 'x-codex-turn-metadata', says: turnOf }, // Codex
  { header: 'x-openai-subagent', says: () => 'subagent' }, // Codex
  { header: 'x-claude-code-agent-id', says: () => 'subagent' }, // Claude Code
  { header: 'x-parent-session-id', says: () => 'subagent' }, // opencode
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
  for (const { header, says } of TOLD) {
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

/** Headers with a session id, each sent by one or more coding clients. The first valid value is used. */
const SESSION_HEADERS = [
  'x-gateway-session-id',
  'x-parent-session-id', // of a subagent of opencode, whose own session is its agent id
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

/** Codex names the thread in every call, and opencode the session. Only those of a subagent count as an agent. */
export const agentOf = (headers: IncomingHttpHeaders): string | null =>
  valid(headers['x-claude-code-agent-id']) ??
  (headers['x-openai-subagent'] ? valid(headers['thread-id']) : null) ??
  (headers['x-parent-session-id']
    ? (valid(headers['x-opencode-session']) ?? valid(headers['x-session-affinity']))
    : null)

/** Returns the call from which a call was forked, or null. */
export function parentOf(headers: IncomingHttpHeaders): string | null {
  const id = headers['x-gateway-parent']
  return typeof id === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id : null
}

/** Control characters, which no id has. */
const UNPRINTABLE = /\p{Cc}/u

function valid(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const id = value.trim()
  return id.length > 0 && id.length <= 256 && !UNPRINTABLE.test(id) ? id : null
}
