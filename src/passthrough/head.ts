// Finds a few members in the beginning of a body, which is JSON or a multipart form. Reads only the
// beginning; the body may be incomplete. Refuses what providers read in different ways, because the model on record
// must be the model that the provider reads. Pure. Offsets are in bytes.
import { GatewayError } from '../core/errors.ts'

/** Maximum bytes of a body that are searched for the model. */
export const MAX_HEAD_BYTES = 2 ** 16

/** A member of a JSON object, or a field of a form. */
export interface Member {
  /** Value as a string: a JSON string without its quotes, or another JSON value as written. */
  readonly value: string
  readonly start: number
  readonly end: number
}

export interface Head {
  readonly isJson: boolean
  /**
   * Returns a member; undefined if the head does not contain it. Throws `DoubleMemberError` if it appears
   * twice.
   */
  member(name: string): Member | undefined
}

/** A member appears twice, and providers differ in which value they use. */
export class DoubleMemberError extends Error {
  override readonly name = 'DoubleMemberError'
}

/**
 * Reads the beginning of a body. `type`: the body's Content-Type. Throws `invalid_request` for a form that readers
 * understand differently.
 */
export function readHead(bytes: Buffer, type: string | undefined): Head {
  // Latin-1 gives one character for each byte, so that offsets are bytes.
  const text = bytes.toString('latin1', 0, MAX_HEAD_BYTES)
  const boundary = boundaryOf(type)
  const isJson = boundary === null && /^\s*\{/.test(text)
  const members = isJson
    ? jsonMembers(text)
    : boundary !== null
      ? formFields(text, boundary)
      : new Map<string, Member[]>()
  return {
    isJson,
    member(name) {
      const [first, second] = members.get(name) ?? []
      if (second) throw new DoubleMemberError(name)
      return first
    },
  }
}

/** Beginnings of JSON in UTF-16 or UTF-32, or after a byte order mark. */
const OTHER_ENCODING = /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)[\0\s]*\{|^[\0\s]*\0[\0\s]*\{|^\s*\{\0/

/**
 * Throws for a body whose model only some providers would read: JSON in another encoding than UTF-8, and a form in
 * an address's spelling.
 */
export function refuseUnreadable(bytes: Buffer, type = ''): void {
  if (/^\s*application\/x-www-form-urlencoded\b/i.test(type))
    throw new GatewayError('unsupported_media_type', 'Send the form as multipart/form-data.')
  const mayBeJson = type === '' || /\bjson\b|^\s*text\//i.test(type)
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1]
  if (!mayBeJson) return
  if (
    OTHER_ENCODING.test(bytes.toString('latin1', 0, 64)) ||
    !/^(utf-?8|us-ascii)$/i.test(charset ?? 'utf-8')
  )
    throw new GatewayError('invalid_request', 'The body must be in UTF-8, without a byte order mark.')
}

const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8')

/** A token of JSON. Sticky, so that it fails where the text is cut off. */
const TOKEN = /\s*([{}[\]:,]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\]:,"]+)/sy

/** Returns the members of an object with strings, numbers, booleans or null as values. */
function jsonMembers(text: string): Map<string, Member[]> {
  const members = new Map<string, Member[]>()
  let depth = 0
  let key: string | null = null
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const token = match[1]!
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else if (depth !== 1 || token === ':') continue
    else if (token === ',') key = null
    else if (key === null) key = parsed(token)
    else {
      const end = TOKEN.lastIndex
      // A number or a word at the end of the text may be incomplete.
      if (end === text.length && !token.startsWith('"')) break
      add(members, key, { value: parsed(token), start: end - token.length, end })
    }
    if (depth === 0) break
  }
  return members
}

function parsed(token: string): string {
  if (!token.startsWith('"')) return token
  try {
    return JSON.parse(utf8(token)) as string
  } catch {
    return token // invalid JSON, which the provider reports
  }
}

const ambiguous = (what: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    `The form cannot be relayed, because servers read it in different ways: ${what}.`,
  )

/** A parameter of a header. */
const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"]*))/g

/**
 * Returns a parameter of a header; undefined if it is missing. Throws if it is there twice, or in the form of RFC 2231
 * (`name*`), which only some servers read.
 */
function parameterOf(header: string, name: string): string | undefined {
  const found: string[] = []
  const rest = header.replace(PARAMETER, (_, key: string, quoted?: string, plain?: string) => {
    const lower = key.toLowerCase()
    if (lower.startsWith(`${name}*`)) throw ambiguous(`it has the parameter ${name}*`)
    if (lower === name) found.push(quoted ?? plain!.trim())
    return ''
  })
  if (found.length > 1) throw ambiguous(`it has the parameter ${name} twice`)
  if (found[0]?.includes('\\')) throw ambiguous(`its ${name} has a backslash`)
  if (/[;"=]/.test(rest.replace(/;\s*$/, ''))) throw ambiguous('the parameters of a header are not separated')
  return found[0]
}

/** Returns the boundary of a form; null for other bodies. */
const boundaryOf = (type = ''): string | null =>
  /^\s*multipart\/form-data\s*(;|$)/i.test(type) ? parameterOf(type, 'boundary') || null : null

/** Returns the fields of a form that are complete within the text. */
function formFields(text: string, boundary: string): Map<string, Member[]> {
  const fields = new Map<string, Member[]>()
  const delimiter = `\r\n--${boundary}`
  if (text.includes(`--${boundary}\n`)) throw ambiguous('its lines end in LF without CR')
  // The first delimiter has no line end before it.
  let at = text.startsWith(delimiter.slice(2)) ? delimiter.length - 2 : endOf(text, delimiter, 0)
  while (at >= 0 && !text.startsWith('--', at)) {
    while (text[at] === ' ' || text[at] === '\t') at++
    if (at + 2 > text.length) break
    if (!text.startsWith('\r\n', at)) throw ambiguous('a line begins with its boundary, and goes on')
    const start = endOf(text, '\r\n\r\n', at)
    const end = start < 0 ? -1 : text.indexOf(delimiter, start)
    if (end < 0) break
    const name = nameOf(text.slice(at, start))
    if (name !== undefined) add(fields, name, { value: utf8(text.slice(start, end)), start, end })
    at = end + delimiter.length
  }
  return fields
}

/** Returns the name of a form's part from its headers; undefined if it has none. */
function nameOf(headers: string): string | undefined {
  const lines = headers.split('\r\n').filter(Boolean)
  if (lines.some((line) => /^[ \t]|[\r\n]/.test(line))) throw ambiguous('a header of a part is folded')
  const named = (name: string) =>
    lines.filter((line) => line.slice(0, line.indexOf(':')).trim().toLowerCase() === name)
  const [disposition, second] = named('content-disposition')
  if (second !== undefined) throw ambiguous('a part has two Content-Dispositions')
  const name = disposition && parameterOf(disposition, 'name')
  const isEncoded = named('content-transfer-encoding').some(
    (line) => !/:\s*(7bit|8bit|binary)\s*$/i.test(line),
  )
  if (name !== undefined && isEncoded) throw ambiguous('a part is encoded')
  return name === undefined ? undefined : utf8(name)
}

/** Returns the index after the next `word`; -1 if there is none. */
function endOf(text: string, word: string, from: number): number {
  const at = text.indexOf(word, from)
  return at < 0 ? -1 : at + word.length
}

function add(members: Map<string, Member[]>, name: string, member: Member): void {
  const same = members.get(name)
  if (same) same.push(member)
  else members.set(name, [member])
}
