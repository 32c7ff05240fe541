// Names of members: finds repeated ones, and spells names without needless escapes, because V8 misreads names with escapes (seen in 13.6,
// https://github.com/nodejs/node/issues/63785). After an object with the member `max_token\`, the name
// "max_token\u0073" is read as `max_token\`. So one client could change what another client's request means, or
// hide a limit of its own request from the gateway.
import { endOfString, nameIn, skipSpace } from './splice.ts'

/**
 * Returns the same JSON with the names of members written without escapes, except for quotation marks, backslashes,
 * control characters and lone surrogates. Everything else keeps its bytes. Ends for any text, in time linear in it;
 * throws `JsonStructureError` if a string has no end or a name has an invalid escape.
 */
export function plainNames(text: string): string {
  if (!text.includes('\\')) return text
  let out = ''
  let copied = 0
  for (let at = text.indexOf('"'); at >= 0; ) {
    const end = endOfString(text, at)
    if (text[skipSpace(text, end)] === ':') {
      const name = text.slice(at, end)
      if (name.includes('\\')) {
        out += text.slice(copied, at) + JSON.stringify(nameIn(name))
        copied = end
      }
    }
    at = text.indexOf('"', end)
  }
  return out + text.slice(copied)
}

/**
 * Returns the name of a member that an object has twice; null if there is none. `text` must be valid for JSON.parse,
 * with plain names. Reads the text once, without recursion. Readers differ in which value of a repeated member they use.
 */
export function repeatedMember(text: string): string | null {
  const open: Set<string>[] = []
  for (let at = 0; at < text.length; at++)
    switch (text[at]) {
      case '{':
        open.push(new Set())
        break
      case '}':
        open.pop()
        break
      case '"': {
        const end = endOfString(text, at)
        if (text[skipSpace(text, end)] === ':') {
          const name = text.slice(at + 1, end - 1)
          const names = open.at(-1)!
          if (names.has(name)) return name
          names.add(name)
        }
        at = end - 1
      }
    }
  return null
}
