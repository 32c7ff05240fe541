// Changes top-level members of a JSON object within its text. Everything else keeps its bytes: digits of
// numbers, escapes, order, unknown fields. Every function ends for any text, in time linear in it: with a result,
// or with a `JsonStructureError`. Only structure is checked, so text from outside must be parsed first wherever an
// invalid result would do harm. Not recursive, because a sender may nest objects to any depth.

/** A text is not the JSON object or list that it should be, or ends inside a value. */
export class JsonStructureError extends Error {
  override readonly name = 'JsonStructureError'
}

/** New JSON text of a member: fixed, or computed from the present value (undefined if absent). */
export type Replacement = string | ((before: string | undefined) => string)

/**
 * Returns `text` with each member named in `values` replaced. A missing member is added at the end, and a
 * repeated member is changed in every place. Throws `JsonStructureError` if `text` is not an object.
 */
export function spliceMembers(text: string, values: Readonly<Record<string, Replacement>>): string {
  const missing = new Set(Object.keys(values))
  let out = ''
  let copied = 0
  let empty = true
  const close = scanMembers(text, (name, _, start, end) => {
    empty = false
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined) return
    out += text.slice(copied, start) + made(value, text.slice(start, end))
    copied = end
    missing.delete(name)
  })
  out += text.slice(copied, close)
  for (const name of missing) {
    out += `${empty ? '' : ','}${JSON.stringify(name)}:${made(values[name]!, undefined)}`
    empty = false
  }
  return out + text.slice(close)
}

/**
 * Returns the bytes of a request with another value of its member `model`, and with members at its end that it does not
 * have. `bytes`: the UTF-8 of `text`, an object with `model` once. `before`: the present model. Copies the bytes once, and
 * reads nothing behind the model of an object that begins with it.
 */
export function withModel(
  text: string,
  bytes: Buffer,
  before: string,
  model: string,
  added: Readonly<Record<string, string>> = {},
): Buffer {
  const opening = `{"model":${JSON.stringify(before)}`
  let [start, end] = ['{"model":'.length, opening.length]
  if (!text.startsWith(opening))
    scanMembers(text, (name, _, valueStart, valueEnd) => {
      if (name === 'model') [start, end] = [valueStart, valueEnd]
    })
  // Only ASCII has one byte for each character.
  const placeOf = (at: number) => (text.length === bytes.length ? at : Buffer.byteLength(text.slice(0, at)))
  let tail = ''
  for (const name in added) tail += `,${JSON.stringify(name)}:${added[name]}`
  const close = tail === '' ? bytes.length : bytes.lastIndexOf('}')
  const [from, to] = [placeOf(start), placeOf(end)]
  const made = Buffer.allocUnsafe(
    bytes.length - (to - from) + Buffer.byteLength(model) + Buffer.byteLength(tail),
  )
  let at = bytes.copy(made, 0, 0, from)
  at += made.write(model, at)
  at += bytes.copy(made, at, to, close)
  at += made.write(tail, at)
  bytes.copy(made, at, close)
  return made
}

/** Returns a replacement that changes members of an object and leaves any other value as it is. */
export const inObject =
  (values: Readonly<Record<string, Replacement>>): Replacement =>
  (before = '{}') =>
    before.startsWith('{') ? spliceMembers(before, values) : before

/** Returns `text` with the member `from` named `to`, in every place. Throws `JsonStructureError` if `text` is not an object. */
export function renameMember(text: string, from: string, to: string): string {
  let out = ''
  let copied = 0
  scanMembers(text, (name, at) => {
    if (name !== from) return
    out += text.slice(copied, at) + JSON.stringify(to)
    copied = endOfString(text, at)
  })
  return out + text.slice(copied)
}

/** Path to a member: the names of the enclosing objects, then its own name. */
export type MemberPath = readonly string[]

/**
 * Returns `text` without the members at `paths` and without objects that become empty. All other members keep
 * their bytes. Throws `JsonStructureError` if `text` is not an object.
 */
export function omitMembers(text: string, paths: readonly MemberPath[]): string {
  let out = ''
  let copied = 0
  /** What precedes the members omitted since the last kept one. */
  let gap = ''
  let hasOthers = false
  let isLastOmitted = false
  scanMembers(text, (name, at, start, end, next) => {
    const inside = paths.flatMap(([first, ...rest]) => (first === name ? [rest] : []))
    const rest = leftOf(text.slice(start, end), inside)
    isLastOmitted = rest === null
    if (rest === null) {
      gap += text.slice(copied, at)
      copied = next
    } else {
      out += gap + text.slice(copied, start) + rest
      gap = ''
      copied = end
      hasOthers = true
    }
  })
  // Removing the last member also removes the comma before it.
  if (isLastOmitted && hasOthers) gap = gap.replace(/,\s*$/, '')
  return out + gap + text.slice(copied)
}

/** Returns a value without the members at the paths in `inside`; null if nothing is left. */
function leftOf(value: string, inside: readonly MemberPath[]): string | null {
  if (inside.some(({ length }) => length === 0)) return null
  if (inside.length === 0 || !value.startsWith('{')) return value
  const rest = omitMembers(value, inside)
  return rest !== value && /^\{\s*\}$/.test(rest) ? null : rest
}

/**
 * Returns the text of a JSON object's member; undefined if absent, and for any other value than an object. A
 * repeated member counts with its last value. Throws `JsonStructureError` if an object is not complete.
 */
export function memberText(text: string, name: string): string | undefined {
  if (text[skipSpace(text, 0)] !== '{') return undefined
  let found: string | undefined
  scanMembers(text, (each, _, start, end) => {
    if (each === name) found = text.slice(start, end)
  })
  return found
}

/** Returns the texts of a JSON list's elements. Throws `JsonStructureError` if `text` is not a list. */
export function elementsOf(text: string): string[] {
  const elements: string[] = []
  scanElements(text, (start, end) => elements.push(text.slice(start, end).trimEnd()))
  return elements
}

/**
 * Returns a JSON list with `made` applied to each element. The text between elements keeps its bytes. Throws
 * `JsonStructureError` if `text` is not a list.
 */
export function mapElements(text: string, made: (element: string) => string): string {
  let out = ''
  let copied = 0
  scanElements(text, (start, end) => {
    out += text.slice(copied, start) + made(text.slice(start, end))
    copied = end
  })
  return out + text.slice(copied)
}

/**
 * Returns a JSON list with only the elements that `isKept` accepts by index. The remaining elements keep
 * their bytes. Throws `JsonStructureError` if `text` is not a list.
 */
export const keepElements = (text: string, isKept: (at: number) => boolean): string =>
  `[${elementsOf(text)
    .filter((_, at) => isKept(at))
    .join()}]`

const made = (value: Replacement, before: string | undefined): string =>
  typeof value === 'string' ? value : value(before)

/**
 * Visits the members of an object: the name, its index, and the indexes of the value's start, of its end and of
 * the next member. Returns the index of the closing brace.
 */
function scanMembers(
  text: string,
  visit: (name: string, at: number, start: number, end: number, next: number) => void,
): number {
  let at = inside(text, '{')
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = endOfString(text, at)
    const colon = skipSpace(text, nameEnd)
    if (text.charCodeAt(colon) !== COLON) throw new JsonStructureError('a member has no value')
    const start = skipSpace(text, colon + 1)
    const end = endOfValue(text, start)
    const next = afterComma(text, end)
    visit(nameIn(text.slice(at, nameEnd)), at, start, end, next)
    at = next
  }
  if (text[at] !== '}') throw new JsonStructureError('an object has no end')
  return at
}

/** Visits the elements of a list. The end of a number or a word includes the white space after it. */
function scanElements(text: string, visit: (start: number, end: number) => void): void {
  let at = inside(text, '[')
  while (text[at] !== ']') {
    const end = endOfValue(text, at)
    visit(at, end)
    at = afterComma(text, end)
  }
}

/** Returns the index of the first member or element. */
function inside(text: string, bracket: string): number {
  const at = skipSpace(text, 0)
  if (text[at] !== bracket) throw new JsonStructureError(`the text does not begin with ${bracket}`)
  return skipSpace(text, at + 1)
}

function afterComma(text: string, end: number): number {
  const at = skipSpace(text, end)
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at
}

/** Returns the name in a JSON string. Throws `JsonStructureError` if it has an invalid escape. */
export function nameIn(string: string): string {
  if (!string.includes('\\')) return string.slice(1, -1)
  try {
    return JSON.parse(string)
  } catch {
    throw new JsonStructureError('a name is not a JSON string')
  }
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Returns the index of the first character from `at` that is not white space. */
export function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at++
  }
}

/**
 * Returns the index after the closing quote of the string that opens at `at`. Throws `JsonStructureError` if it
 * has no end. Looks at each character twice at most: once for a quote, once for a backslash before one.
 */
export function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote > at; quote = text.indexOf('"', quote + 1)) {
    let start = quote
    while (start - 1 > at && text.charCodeAt(start - 1) === BACKSLASH) start--
    if ((quote - start) % 2 === 0) return quote + 1
  }
  throw new JsonStructureError('a string has no end')
}

/** Returns the index after the value that begins at `at`. Throws `JsonStructureError` if it has no end. */
function endOfValue(text: string, at: number): number {
  if (text.charCodeAt(at) === QUOTE) return endOfString(text, at)
  let depth = 0
  let end = at
  while (end < text.length) {
    switch (text.charCodeAt(end)) {
      case QUOTE:
        end = endOfString(text, end)
        continue
      case BRACE:
      case BRACKET:
        depth++
        break
      case BRACE_END:
      case BRACKET_END:
        if (depth === 1) return end + 1
        if (depth === 0 && end === at) throw new JsonStructureError('a value is missing')
        if (depth === 0) return end
        depth--
        break
      case COMMA:
        if (depth === 0 && end === at) throw new JsonStructureError('a value is missing')
        if (depth === 0) return end
    }
    end++
  }
  throw new JsonStructureError('a value has no end')
}
