// Shared by the cassettes of vcrpy, Ruby VCR and go-vcr: bodies as text, bytes or base64, and headers as
// lists.
import { z } from 'zod'
import { decompress, refuseLarge } from './decode.ts'

const content = z.union([z.string(), z.instanceof(Buffer)])

/** Body: itself, or an object that holds it as text or as base64. */
export const body = z
  .union([
    content,
    z.object({ string: content.nullable() }).transform(({ string }) => string),
    z
      .object({ base64_string: z.string() })
      .transform(({ base64_string }) => Buffer.from(base64_string, 'base64')),
  ])
  .nullish()
  .transform((value) => value ?? '')

/** Header names with their values. */
export const headerLists = z
  .record(z.string(), z.union([z.array(z.string()), z.string().transform((value) => [value])]))
  .nullish()
  .transform((lists) => lists ?? {})

type Headers = Readonly<Record<string, string>>

/** Returns a request body as text, even if it was recorded as bytes; null if there was none. */
export function requestText(value: string | Buffer, headers: Headers): string | null {
  refuseLarge(value.length)
  return (typeof value === 'string' ? value : decompress(value, headers).toString()) || null
}

/** Returns a response body as bytes, even if it was recorded as text. */
export const responseBytes = (value: string | Buffer, headers: Headers): Buffer => {
  refuseLarge(value.length)
  return decompress(typeof value === 'string' ? Buffer.from(value) : value, headers)
}
