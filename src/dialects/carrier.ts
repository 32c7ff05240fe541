// Packs opaque reasoning of one family into a field of another dialect: `wb1:<family>:<base64>`. Clients
// return the field unchanged. The reasoning is unpacked for its own family only. Independent of the
// particular dialects.
import type { Opaque } from './blocks.ts'

const MARK = 'wb1:'

/** An empty text means that the provider sent reasoning of this family without opaque data. */
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

/** Returns false if a body certainly contains no packed reasoning. Does not parse the body. */
export const mayHoldCarriers = (body: string): boolean => body.includes(`"${MARK}`)
