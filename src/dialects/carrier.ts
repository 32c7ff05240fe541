// Carries opaque reasoning of one family in a field of another dialect that its clients return unchanged:
// `wb1:<family>:<base64>`. When it comes back, it is unpacked for that family only. Knows no dialect.
import type { Opaque } from './blocks.ts'

const MARK = 'wb1:'

/** An empty text means reasoning of that family for which the provider sent no opaque data. */
export const packOpaque = ({ family, bytes }: Opaque): string =>
  `${MARK}${encodeURIComponent(family)}:${Buffer.from(bytes, 'utf8').toString('base64')}`

/** Returns the packed reasoning; null for any other text. */
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

/** Returns false if a body certainly holds no carriers; needs no parsing. */
export const mayHoldCarriers = (body: string): boolean => body.includes(`"${MARK}`)
