// Parts that the cassettes of vcrpy, Ruby VCR, R's vcr and go-vcr share: bodies as text, bytes, base64 or parsed JSON,
// and headers as lists.
import { z } from 'zod'
import { address, decompress, headersFromLists, type ImportFormat, refuseLarge } from './interaction.ts'

const content = z.union([z.string(), z.instanceof(Buffer)])

const base64 = (text: string): Buffer => Buffer.from(text, 'base64')

/** Body: a plain value, or an object that holds the body as text, base64, or, in R, base64 of its gzip. */
export const body = z
  .union([
    content,
    z.object({ string: content.nullable() }).transform(({ string }) => string),
    z.object({ string: z.looseObject({}) }).transform(({ string }) => JSON.stringify(string)),
    z.object({ base64_string: z.string() }).transform(({ base64_string }) => base64(base64_string)),
    z.object({ raw_gzip: z.string() }).transform(({ raw_gzip }) => base64(raw_gzip)),
    z.object({ raw: z.string() }).transform(({ raw }) => base64(raw)),
    z.object({ fields: z.unknown() }).transform(() => ''), // a form, of which R keeps only the names
    z.strictObject({}).transform(() => ''),
  ])
  .nullish()
  .transform((value) => value ?? '')

/** Value of a header as a recorder wrote it: text, bytes, a number, nothing, or a list of these. */
const valuesOf = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(valuesOf)
  if (value === null || value === undefined) return []
  return [Buffer.isBuffer(value) ? value.toString('latin1') : String(value)]
}

/** Header names with their values; some recorders write a list of pairs. */
export const headerLists = z
  .union([
    z.record(z.string(), z.unknown()),
    z.array(z.tuple([z.string(), z.unknown()])).transform(Object.fromEntries),
  ])
  .nullish()
  .transform(
    (lists): Record<string, string[]> =>
      Object.fromEntries(
        Object.entries(lists ?? {}).flatMap(([name, value]) => {
          const values = valuesOf(value)
          return values.length > 0 ? [[name, values]] : []
        }),
      ),
  )

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

const code = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{3}$/)
    .transform(Number),
])
/** Status: a number in R, an object elsewhere. */
const status = z.union([
  code,
  z.object({ code }).transform((one) => one.code),
  z.object({ status_code: code }).transform((one) => one.status_code),
])

/**
 * Puts a body where vcrpy has it today: the one that pydantic-ai's serializer parsed, and the `content` that vcrpy before
 * its version 6 wrote for httpx. Throws for R's bodies in other files.
 */
const withBody = (message: unknown): unknown => {
  if (typeof message !== 'object' || message === null) return message
  const { parsed_body, ...rest } = message as {
    parsed_body?: unknown
    body?: { file?: unknown } | null
    content?: unknown
    status_code?: unknown
    status?: unknown
  }
  if (rest.content !== undefined && rest.body === undefined)
    return { ...rest, body: rest.content, status: rest.status_code ?? rest.status }
  const { file } = rest.body ?? {}
  if (file !== undefined && file !== false)
    throw new Error('its body is in a file of its own; record it again with the bodies in the cassette')
  return parsed_body === undefined ? message : { ...rest, body: JSON.stringify(parsed_body) }
}

const exchange = z.object({
  request: z.preprocess(
    withBody,
    z.object({ method: z.string(), uri: z.string(), body, headers: headerLists }),
  ),
  response: z.preprocess(withBody, z.object({ status, headers: headerLists, body })),
})

/** Reads an exchange in the format that VCR of Ruby, of R, and vcrpy write. */
export const readVcr: ImportFormat['read'] = (item) => {
  const { request, response } = exchange.parse(item)
  const requestHeaders = headersFromLists(request.headers)
  const responseHeaders = headersFromLists(response.headers)
  return {
    ...address(request.uri),
    method: request.method,
    requestHeaders,
    requestBody: requestText(request.body, requestHeaders),
    status: response.status,
    responseHeaders,
    responseBody: responseBytes(response.body, responseHeaders),
  }
}
