// Looks for a few members in the beginning of a body: JSON, or a form in parts. Neither needs to be whole, and
// nothing beyond the beginning is read. Pure; offsets are bytes.

/** Bytes of a body in which the model is looked for. */
export const MAX_HEAD_BYTES = 2 ** 16

/** A member of a JSON object, or a field of a form. */
export interface Member {
  /** Its text: that of a JSON string without its quotes, any other JSON value as written. */
  readonly value: string
  readonly start: number
  readonly end: number
}

export interface Head {
  readonly isJson: boolean
  /** Returns a member; undefined if it is not in the head. Throws `DoubleMemberError` if it is there twice. */
  member(name: string): Member | undefined
}

/** A member is there twice, so it is not known which one the provider would take. */
export class DoubleMemberError extends Error {
  override readonly name = 'DoubleMemberError'
}

/** `type`: the body's Content-Type. */
export function readHead(bytes: Buffer, type: string | undefined): Head {
  // One character for each byte, so that offsets are bytes.
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

/** A token of JSON; sticky, so that it fails where the text is cut off. */
const TOKEN = /\s*([{}[\]:,]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\]:,"]+)/sy

/** Returns the members of an object whose values are texts, numbers or words. */
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
      // A number or a word at the very end may go on.
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
    return token // not valid: the provider says so
  }
}

const NAME = /^content-disposition:[^\r\n]*;\s*name=(?:"([^"\r\n]*)"|([^\s;"]+))/im

/** Returns the fields of a form that end within the text. */
function formFields(text: string, boundary: string): Map<string, Member[]> {
  const fields = new Map<string, Member[]>()
  const delimiter = `\r\n--${boundary}`
  // The first delimiter has no line before it.
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
