// Finds repeated members. Readers differ in which value of a repeated member they use.
import { endOfString, skipSpace } from './splice.ts'

/**
 * Returns the name of a member that an object has twice; null if there is none. `text` must be valid for JSON.parse,
 * with plain names (`plain-names.ts`). Reads the text once, without recursion.
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
