// Changes top-level members of a JSON object in its own text, so that everything else keeps its bytes:
// number spellings, escapes, order, fields that we do not know.

/** What a member becomes, as JSON text: the same everywhere, or made from the present value (undefined if there is none). */
export type Replacement = string | ((before: string | undefined) => string)

/**
 * Returns `text` with each member named in `values` replaced; a member that is not there is added at the end, one that
 * appears twice is changed in every place. `text` must be an object that JSON.parse accepts; anything else gives an
 * undefined result. Never recurses: how deep a text is, is its sender's to choose.
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

/** Returns a JSON list with each element replaced by what `made` makes of it; what is between them keeps its bytes. */
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

/** Returns a JSON list without the elements of which `isKept` says no, by their place; what is left keeps its bytes. */
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

function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at++
  }
}

/** The index behind the closing quote of the string that opens at `at`. */
function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); ; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
}

/** The index behind the value that begins at `at`. */
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
