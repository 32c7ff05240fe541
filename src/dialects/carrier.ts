// Sealed reasoning of one family in a field of another dialect that its clients return unchanged: `wb1:<family>:<base64>`.
// When it comes back, its family can be read from it; it is unpacked for that family only. Knows no dialect.
import type { Opaque } from './blocks.ts'

const MARK = 'wb1:'

/** An empty text says that a provider sealed nothing, and that the reasoning is of that family all the same. */
export const packOpaque = ({ family, bytes }: Opaque): string =>
  `${MARK}${encodeURIComponent(family)}:${Buffer.from(bytes, 'utf8').toString('base64')}`

/** What was packed; null for a text that is no carrier of ours. */
export function unpackOpaque(text: string): Opaque | null {
  if (!text.startsWith(MARK)) return null
  const colon = text.indexOf(':', MARK.length)
  if (colon < 0) return null
  try {
    const family = decodeURIComponent(text.slice(MARK.length, colon))
    return { family, bytes: Buffer.from(text.slice(colon + 1), 'base64').toString('utf8') }
  } catch {
    return null
  }
}

/** Whether a body may hold carriers; it takes no parsing to know that it holds none. */
export const mayHoldCarriers = (body: string): boolean => body.includes(`"${MARK}`)
