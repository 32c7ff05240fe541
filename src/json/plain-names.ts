// Spells the names of members without needless escapes, because V8 misreads names with escapes (seen in 13.6,
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
