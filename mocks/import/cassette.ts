// What the cassettes of vcrpy, Ruby VCR and go-vcr have in common: bodies that are text, bytes or base64, and headers
// that are lists.
import { z } from 'zod'
import { plain, refuseLarge } from './decode.ts'

const content = z.union([z.string(), z.instanceof(Buffer)])

/** A body: itself, or an object that holds it as text or as base64. */
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

/** A request body is text, also where the recorder kept it as bytes; null where there was none. */
export function requestText(value: string | Buffer, headers: Headers): string | null {
  refuseLarge(value.length)
  return (typeof value === 'string' ? value : plain(value, headers).toString()) || null
}

/** A response body is bytes, also where the recorder kept it as text. */
export const responseBytes = (value: string | Buffer, headers: Headers): Buffer => {
  refuseLarge(value.length)
  return plain(typeof value === 'string' ? Buffer.from(value) : value, headers)
}
