// Masks secrets, which must never be written or repeated.
import { parseBounded } from './bounded-json.ts'

/** Replaces every secret that it knows by `***`. */
export type Mask = (text: string) => string

/**
 * A mask for these secrets, as they are and URL-encoded. Those shorter than 8 characters would garble ordinary words. The
 * longest goes first: where one is a part of another, masking it first would leave the rest of the other in the open.
 */
export function createMask(secrets: Iterable<string>): Mask {
  const forms = [...secrets]
    .filter(({ length }) => length >= 8)
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .sort((a, b) => b.length - a.length)
  return (text) => forms.reduce((masked, form) => masked.replaceAll(form, '***'), text)
}

/** Masks JSON, also where escapes hide a secret; text without one keeps its bytes. */
export function maskJson(text: string, mask: Mask): string {
  try {
    const plain = JSON.stringify(parseBounded(text))
    const masked = mask(plain)
    return masked === plain ? text : masked
  } catch {
    return mask(withoutEscapes(text, mask))
  }
}

/** Text that is no JSON, or too much of it to be read: without the escapes where they hide a secret. */
function withoutEscapes(text: string, mask: Mask): string {
  if (!text.includes('\\')) return text
  const plain = text.replace(/\\(?:u([\da-f]{4})|(.))/gi, (_, hex, other) =>
    hex ? String.fromCharCode(Number.parseInt(hex, 16)) : other,
  )
  return mask(plain) === plain ? text : plain
}

/** Masks a body that is JSON, a stream of events whose data is JSON, or any other text. */
export const maskBody = (text: string, mask: Mask): string =>
  /^\s*[{[]/.test(text)
    ? maskJson(text, mask)
    : text.replace(/^(data: ?)(.*)$|^.+$/gm, (line, field?: string, data?: string) =>
        field === undefined ? mask(line) : field + maskJson(data!, mask),
      )
