// Finds a few members in the beginning of a body, which is JSON or a multipart form. Reads only the
// beginning; the body may be incomplete. Pure. Offsets are in bytes.

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

/** Reads the beginning of a body. `type`: the body's Content-Type. */
export function readHead(bytes: Buffer, type: string | undefined): Head {
  // Latin-1 gives one character for each byte, so that offsets are bytes.
  const text = bytes.toString('latin1', 0, MAX_HEAD_BYTES)
  const boundary = /^multipart\/form-data\b.*?;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/is.exec(type ?? '')
  const isJson = !boundary && /^\s*\{/.test(text)
  const members = isJson
    ? jsonMembers(text)
    : boundary
      ? formFields(text, (boundary[1] ?? boundary[2])!)
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

const NAME = /^content-disposition:[^\r\n]*;\s*name=(?:"([^"\r\n]*)"|([^\s;"]+))/im

/** Returns the fields of a form that are complete within the text. */
function formFields(text: string, boundary: string): Map<string, Member[]> {
  const fields = new Map<string, Member[]>()
  const delimiter = `\r\n--${boundary}`
  // The first delimiter has no line end before it.
  let at = text.startsWith(delimiter.slice(2)) ? delimiter.length - 2 : endOf(text, delimiter, 0)
  while (at >= 0 && text.startsWith('\r\n', at)) {
    const start = endOf(text, '\r\n\r\n', at)
    const end = start < 0 ? -1 : text.indexOf(delimiter, start)
    if (end < 0) break
    const [, quoted, plain] = NAME.exec(text.slice(at, start)) ?? []
    const name = quoted ?? plain
    if (name !== undefined) add(fields, name, { value: utf8(text.slice(start, end)), start, end })
    at = end + delimiter.length
  }
  return fields
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
