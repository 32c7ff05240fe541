// Identifies the program that made a call by its cleaned `User-Agent`. Independent of the record.
import type { IncomingHttpHeaders } from 'node:http'
import { GATEWAY_KEY_HEADER } from '../credentials/caller-credential.ts'
import { recent } from '../shared/recent.ts'
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
