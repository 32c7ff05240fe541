// Parts that the cassettes of vcrpy, Ruby VCR and go-vcr share: bodies as text, bytes or base64, and headers
// as lists.
import { z } from 'zod'
import { decompress, refuseLarge } from './decode.ts'
import { address, headersFromLists, type ImportFormat } from './interaction.ts'

const content = z.union([z.string(), z.instanceof(Buffer)])

/** Body: a plain value, or an object that holds the body as text or base64. */
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

const exchange = z.object({
  request: z.object({ method: z.string(), uri: z.string(), body, headers: headerLists }),
  response: z.object({
    status: z.object({ code: z.int() }),
    headers: headerLists,
    body: z.custom((value) => value !== undefined, 'is missing').pipe(body),
  }),
})

/** Reads an exchange in the format that both Ruby VCR and vcrpy write. */
export const readVcr: ImportFormat['read'] = (item) => {
  const { request, response } = exchange.parse(item)
  const requestHeaders = headersFromLists(request.headers)
  const responseHeaders = headersFromLists(response.headers)
  return {
    ...address(request.uri),
    method: request.method,
    requestHeaders,
    requestBody: requestText(request.body, requestHeaders),
    status: response.status.code,
    responseHeaders,
    responseBody: responseBytes(response.body, responseHeaders),
  }
}
