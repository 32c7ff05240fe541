// Finds the time for which a provider wants to be left alone, in every place where providers write it: headers,
// members of the error, or words of its message. Pure, except for the clock.
import type { IncomingHttpHeaders } from 'node:http'
import { clock } from '../shared/clock.ts'
import { durationAt, durationIn, resetTimeIn } from '../shared/reset-time.ts'

/** A provider's answer that names a time to wait. */
interface BusyAnswer {
  readonly status: number | null
  readonly headers: IncomingHttpHeaders
  /** Body of the error; null or absent if it is not read. */
  readonly body?: Buffer | null
}

/** Maximum time to wait, ms. */
const MAX_WAIT_MS = 3_600_000

/** Maximum bytes of an error that are searched for a time. */
const MAX_SEARCHED_BYTES = 65_536

/** Statuses of a provider that has too much to do. Only with these do its limits and its words concern the call. */
const BUSY = [429, 503, 529]
/** Statuses whose limits in the headers may be the reason. */
const LIMITED = [429, 503]

/** Returns the time to wait, ms; null if the provider names none. */
export function waitingTime({ status, headers, body = null }: BusyAnswer): number | null {
  const now = clock.now()
  const fromHeader = inRetryAfter(headers, now)
  if (fromHeader !== null || !BUSY.includes(status ?? 0)) return fromHeader
  return (body && inBody(body, now)) ?? (LIMITED.includes(status!) ? inLimits(headers, now) : null)
}

/** Returns the time that the body of a refusal names, whatever its status is. */
export function inBody(body: Buffer, now = clock.now()): number | null {
  const text = body.toString('utf8', 0, MAX_SEARCHED_BYTES)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return inWords(text, now)
  }
  const found: Found = { members: new Map(), texts: [] }
  collect(json, found, 0)
  for (const [name, read] of Object.entries(MEMBERS)) {
    const value = found.members.get(name)
    const ms = value === undefined ? null : bounded(read(value, now))
    if (ms !== null) return ms
  }
  for (const each of found.texts) {
    const ms = inWords(each, now)
    if (ms !== null) return ms
  }
  return null
}

const bounded = (ms: number | null): number | null =>
  ms !== null && Number.isFinite(ms) && ms > 0 ? Math.min(ms, MAX_WAIT_MS) : null

/** Reads `retry-after-ms`, or `Retry-After` in seconds, as a duration or as a date. A zero allows the next request. */
function inRetryAfter(headers: IncomingHttpHeaders, now: number): number | null {
  const ms = textOf(headers['retry-after-ms'])
  if (/^\d{1,12}(\.\d+)?$/.test(ms)) return Math.min(Number(ms), MAX_WAIT_MS)
  const after = textOf(headers['retry-after'])
  const at = after === '' ? null : resetTimeIn(after, now)
  return at === null ? null : Math.min(Math.max(at - now, 0), MAX_WAIT_MS)
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

const RESET = /^(?:x-|anthropic-)?rate-?limit-(?:([\w-]+?)-)?reset(?:-([\w-]+))?$/

/**
 * Reads the resets of the limits. A limit without room decides; if none of them is known to be used up, the earliest
 * reset does.
 */
function inLimits(headers: IncomingHttpHeaders, now: number): number | null {
  const resets = Object.keys(headers).flatMap((name) => {
    const reset = RESET.exec(name.replace('rate-limit', 'ratelimit'))
    const at = reset && resetTimeIn(textOf(headers[name]), now)
    if (at === null || at <= now) return []
    const left = textOf(headers[name.replace('reset', 'remaining')])
    return [{ ms: at - now, isUsedUp: left === '0' || left === '0.0' }]
  })
  const usedUp = resets.filter((each) => each.isUsedUp)
  if (usedUp.length > 0) return bounded(Math.max(...usedUp.map(({ ms }) => ms)))
  return resets.length > 0 ? bounded(Math.min(...resets.map(({ ms }) => ms))) : null
}

interface Found {
  readonly members: Map<string, unknown>
  readonly texts: string[]
}

const MAX_DEPTH = 6
const MAX_TEXTS = 32

/** Collects the members and texts of an error. The first member of a name counts. */
function collect(value: unknown, found: Found, depth: number): void {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return
  for (const [name, each] of Object.entries(value)) {
    const known = name.toLowerCase().replace(/[_-]/g, '')
    if (Object.hasOwn(MEMBERS, known) && !found.members.has(known)) found.members.set(known, each)
    if (typeof each === 'string' && found.texts.length < MAX_TEXTS) {
      found.texts.push(each)
      if (/^\s*[[{]/.test(each)) collect(parsed(each), found, depth + 1)
    } else collect(each, found, depth + 1)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

type Read = (value: unknown, now: number) => number | null

/** Reads a number of seconds, a duration or a time. */
const reset: Read = (value, now) => {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const at = resetTimeIn(String(value).trim(), now)
  return at === null ? null : at - now
}
const milliseconds: Read = (value) =>
  /^\d{1,15}(\.\d+)?$/.test(String(value)) ? Number(value) : durationIn(String(value))
/** Reads a duration of Google, as text or with its parts. */
const googleDuration: Read = (value, now) => {
  if (typeof value !== 'object' || value === null) return reset(value, now)
  const { seconds = 0, nanos = 0 } = value as { seconds?: unknown; nanos?: unknown }
  return Number(seconds) * 1_000 + Number(nanos) / 1e6
}

/** Members that name a time, without case, `_` and `-`, the most exact first. */
const MEMBERS: Readonly<Record<string, Read>> = {
  retrydelay: googleDuration,
  retryafterms: milliseconds,
  retryafterseconds: reset,
  retryafter: reset,
  resetsinseconds: reset,
  resetsat: reset,
  resetat: reset,
  quotaresetdelay: reset,
  quotaresettimestamp: reset,
  xratelimitreset: reset,
  estimatedtime: reset,
}

const WORDS = String.raw`\b(?:again|retry|retrying|wait|resets?|available|access)\b`
const BEFORE_DURATION = new RegExp(
  String.raw`(?:${WORDS}[^.\d]{0,40}?\b(?:in|after|for)|\bwait) (?:about |approximately |around |~)?(?=\d)`,
  'gi',
)
const AT_TIME =
  /\b(?:again|retry|wait|resets?|available|access)\b[^\d]{0,40}?\b(?:at|on|after|until) (\d{4}-\d\d-\d\d)(?:(?:T| at | )(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?)?/i

/** Maximum characters of a message that are searched. */
const MAX_MESSAGE_LENGTH = 8_192

/** Reads words such as "try again in 1m30.5s" or "regain access on 2026-04-01 at 00:00 UTC". */
function inWords(message: string, now: number): number | null {
  const text = message.slice(0, MAX_MESSAGE_LENGTH)
  const [, day, time = '00:00', zone = 'Z'] = AT_TIME.exec(text) ?? []
  if (day !== undefined) {
    const at = Date.parse(`${day}T${time}${/^(utc|gmt)$/i.test(zone) ? 'Z' : zone}`)
    if (Number.isFinite(at)) return bounded(at - now)
  }
  for (const { index, 0: words } of text.matchAll(BEFORE_DURATION)) {
    const found = durationAt(text, index + words.length)
    if (found) return bounded(found.ms)
  }
  return null
}
