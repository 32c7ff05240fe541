// Changes top-level members of a JSON object within its text. Everything else keeps its bytes: digits of
// numbers, escapes, order, unknown fields.

/** New JSON text of a member: fixed, or computed from the present value (undefined if absent). */
export type Replacement = string | ((before: string | undefined) => string)

/**
 * Returns `text` with each member named in `values` replaced. A missing member is added at the end, and a
 * repeated member is changed in every place. `text` must be an object that JSON.parse accepts; the result for
 * other texts is undefined. Not recursive, because a sender may nest objects to any depth.
 */
export function spliceMembers(text: string, values: Readonly<Record<string, Replacement>>): string {
  const missing = new Set(Object.keys(values))
  let out = ''
  let copied = 0
  let empty = true
  let at = skipSpace(text, text.indexOf('{') + 1)
  while (text[at] === '"') {
    empty = false
    const keyEnd = endOfString(text, at)
    const key = JSON.parse(text.slice(at, keyEnd)) as string
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = endOfValue(text, start)
    const value = Object.hasOwn(values, key) ? values[key] : undefined
    if (value !== undefined) {
      out += text.slice(copied, start) + made(value, text.slice(start, end))
      copied = end
      missing.delete(key)
    }
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  out += text.slice(copied, at)
  for (const key of missing) {
    out += `${empty ? '' : ','}${JSON.stringify(key)}:${made(values[key]!, undefined)}`
    empty = false
  }
  return out + text.slice(at)
}

/** Path to a member: the names of the enclosing objects, then its own name. */
export type MemberPath = readonly string[]

/**
 * Returns `text` without the members at `paths` and without objects that become empty. All other members keep
 * their bytes. `text` must be as in `spliceMembers`.
 */
export function omitMembers(text: string, paths: readonly MemberPath[]): string {
  let out = ''
  let copied = 0
  let at = skipSpace(text, text.indexOf('{') + 1)
  let hasOthers = false
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at)
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = endOfValue(text, start)
    const after = skipSpace(text, end)
    const next = text[after] === ',' ? skipSpace(text, after + 1) : after
    const key = JSON.parse(text.slice(at, keyEnd)) as string
    const inside = paths.flatMap(([name, ...rest]) => (name === key ? [rest] : []))
    const rest = leftOf(text.slice(start, end), inside)
    if (rest !== null) {
      out += text.slice(copied, start) + rest
      copied = end
      hasOthers = true
    } else {
      const before = text.slice(copied, at)
      // Removing the last member also removes the comma before it.
      out += next === after && hasOthers ? before.replace(/,\s*$/, '') : before
      copied = next
    }
    at = next
  }
  return out + text.slice(copied)
}

/** Returns a value without the members at the paths in `inside`; null if nothing is left. */
function leftOf(value: string, inside: readonly MemberPath[]): string | null {
  if (inside.some(({ length }) => length === 0)) return null
  if (inside.length === 0 || !value.startsWith('{')) return value
  const rest = omitMembers(value, inside)
  return rest !== value && /^\{\s*\}$/.test(rest) ? null : rest
}

/**
 * Returns the text of a JSON object's member; undefined if absent. A repeated member counts with its last
 * value.
 */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined
  const note = (before: string | undefined) => {
    found = before
    return ''
  }
  spliceMembers(text, { [name]: note })
  return found
}

/** Returns the texts of a JSON list's elements. */
export function elementsOf(text: string): string[] {
  const elements: string[] = []
  mapElements(text, (element) => {
    elements.push(element.trimEnd())
    return ''
  })
  return elements
}

/** Returns a JSON list with `made` applied to each element. The text between elements keeps its bytes. */
export function mapElements(text: string, made: (element: string) => string): string {
  let out = ''
  let copied = 0
  let at = skipSpace(text, text.indexOf('[') + 1)
  while (text[at] !== ']') {
    const end = endOfValue(text, at)
    out += text.slice(copied, at) + made(text.slice(at, end))
    copied = end
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return out + text.slice(copied)
}

/**
 * Returns a JSON list with only the elements that `isKept` accepts by index. The remaining elements keep
 * their bytes.
 */
export function keepElements(text: string, isKept: (at: number) => boolean): string {
  const kept: string[] = []
  let at = skipSpace(text, text.indexOf('[') + 1)
  for (let n = 0; text[at] !== ']'; n++) {
    const end = endOfValue(text, at)
    if (isKept(n)) kept.push(text.slice(at, end).trimEnd())
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return `[${kept.join()}]`
}

const made = (value: Replacement, before: string | undefined): string =>
  typeof value === 'string' ? value : value(before)

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Returns the index of the first character from `at` that is not white space. */
export function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at++
  }
}

/** Returns the index after the closing quote of the string that opens at `at`. */
export function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); ; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
}

/** Returns the index after the value that begins at `at`. */
function endOfValue(text: string, at: number): number {
  if (text.charCodeAt(at) === QUOTE) return endOfString(text, at)
  let depth = 0
  for (;;) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at)
        continue
      case '{':
      case '[':
        depth++
        break
      case '}':
      case ']':
        if (depth === 0) return at
        if (--depth === 0) return at + 1
        break
      case ',':
        if (depth === 0) return at
    }
    at++
  }
}
