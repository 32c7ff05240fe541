// One request with its answer, as readers of other projects' files return it, and how they decode bodies and headers: as
// text, bytes, base64 or parsed JSON.
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { z } from 'zod'
import { MAX_FILE_BYTES } from '../recording/format.ts'

/** Exchange from a foreign recording. Header names are lower case; repeated headers are joined by ", ". */
export interface Interaction {
  /** Address as recorded, including the query and placeholders such as `<API_BASE>`, but with a region. */
  readonly url: string
  /** Host with port, or its placeholder; never a user's name and password. Empty if unknown. */
  readonly host: string
  /** Without the query. */
  readonly path: string
  readonly method: string
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly requestBody: string | null
  readonly status: number
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Decoded body, independent of the encoding in the headers. */
  readonly responseBody: Buffer
}

/** Exchange that cannot be read, with the reason in one line. */
export interface Unreadable {
  readonly refused: string
}

/** Returns the bytes of a body that a recorder wrote into a file of its own. */
export type BodyFile = (name: string) => Buffer

/** Reader of a format. */
export interface ImportFormat {
  readonly name: string
  /** Reads one exchange. Throws if it violates the format. */
  read(item: unknown, bodyFile?: BodyFile): Interaction
  /** Checks the end of a file for completeness; returns the missing part, or null. */
  cut(text: string, last: unknown): string | null
}

/** A recorder's placeholder for a region. Without a region, the provider of a host is not found. */
const REGION = /<\w*region\w*>/gi

/** Splits a recorded address, even if it begins with a project's placeholder and is therefore not a URL. */
export function address(recorded: string): Pick<Interaction, 'url' | 'host' | 'path'> {
  const url = recorded.replace(REGION, 'us-east-1')
  const [, host = '', path = ''] = /^(?:[a-z]+:\/\/)?(?:[^/?#]*@)?([^/?#]*)([^?#]*)/i.exec(url) ?? []
  return { url, host, path: path || '/' }
}

/** Joins headers that a format stores as lists: name -> values. */
export function headersFromLists(lists: Readonly<Record<string, readonly string[]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(lists).map(([name, values]) => [name.toLowerCase(), values.join(', ')]),
  )
}

/** Joins headers that a format stores as pairs; a name may occur several times. */
export function headersFromPairs(
  pairs: readonly { readonly name: string; readonly value: string }[],
): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const { name, value } of pairs) {
    const key = name.toLowerCase()
    joined[key] = key in joined ? `${joined[key]}, ${value}` : value
  }
  return joined
}

const MIB = 2 ** 20
/**
 * Maximum bytes of a body: more than any model sends, and enough for an image in base64. Reading takes up to
 * forty times as much memory.
 */
export const MAX_IMPORTED_BYTES = 16 * MIB

/** Unpacks a file that was compressed as a whole. */
export function unpackedFile(bytes: Buffer): Buffer {
  const unpack = unpackerOf(bytes, 'identity')
  if (!unpack) return bytes
  try {
    return unpack.with(bytes, { maxOutputLength: MAX_FILE_BYTES })
  } catch (error) {
    throw new Error(`is ${unpack.name}, and cannot be unpacked (${(error as Error).message}); copy it again`)
  }
}

/** Decodes a file by its byte order mark, or as UTF-8 if it has none. Throws if the file is not text. */
export function decodeText(bytes: Buffer): string {
  const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff
  const encoding = utf16 === true ? 'utf-16be' : utf16 || 'utf-8'
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    throw new Error('is not UTF-8 text')
  }
}

/**
 * Decompresses a body. Trusts the bytes, not the headers: some recorders decompress a body but keep its
 * headers. Throws if decompression fails or the result exceeds 16 MiB.
 */
export function decompress(body: Buffer, headers: Readonly<Record<string, string>> = {}): Buffer {
  refuseLarge(body.length)
  const named = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(/\s*,\s*/)
    .reverse()
  let bytes = body
  for (const encoding of named) bytes = unpacked(bytes, encoding)
  return unpacked(bytes, 'identity')
}

export function refuseLarge(bytes: number): void {
  if (bytes > MAX_IMPORTED_BYTES)
    throw new Error(`a body has more than ${MAX_IMPORTED_BYTES / MIB} MiB; such a body is not imported`)
}

function unpacked(bytes: Buffer, encoding: string): Buffer {
  const unpack = unpackerOf(bytes, encoding)
  if (!unpack) return bytes
  try {
    return unpack.with(bytes, { maxOutputLength: MAX_IMPORTED_BYTES })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') refuseLarge(MAX_IMPORTED_BYTES + 1)
    throw new Error(`its ${unpack.name} body cannot be unpacked (${message}); record it again`)
  }
}

function unpackerOf(bytes: Buffer, encoding: string) {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return { name: 'gzip', with: gunzipSync }
  if (bytes.length >= 4 && bytes.readUInt32LE() === 0xfd2fb528)
    return { name: 'zstd', with: zstdDecompressSync }
  if (bytes.length === 0 || isText(bytes)) return null
  if (encoding === 'deflate') {
    const wrapped = bytes.length >= 2 && (bytes[0]! & 0x0f) === 8 && bytes.readUInt16BE() % 31 === 0
    return { name: 'deflate', with: wrapped ? inflateSync : inflateRawSync }
  }
  if (encoding === 'br') return { name: 'br', with: brotliDecompressSync }
  if (/gzip$/.test(encoding)) return { name: 'gzip', with: gunzipSync }
  return encoding === 'zstd' ? { name: 'zstd', with: zstdDecompressSync } : null
}

/** Returns true if an answer is text: valid UTF-8 without control characters other than white space. */
function isText(bytes: Buffer): boolean {
  try {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they distinguish bytes from text
    return !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(
      new TextDecoder('utf-8', { fatal: true }).decode(bytes),
    )
  } catch {
    return false
  }
}

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
function requestText(value: string | Buffer, headers: Headers): string | null {
  refuseLarge(value.length)
  return (typeof value === 'string' ? value : decompress(value, headers).toString()) || null
}

/** Returns a response body as bytes, even if it was recorded as text. */
const responseBytes = (value: string | Buffer, headers: Headers): Buffer => {
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

interface VcrRequest {
  readonly method: string
  readonly body: string | Buffer
  readonly headers: Readonly<Record<string, readonly string[]>>
}

/** Makes an interaction of an exchange with bodies and lists of headers, as programs of the name VCR write it. */
export function interactionOf(
  url: string,
  request: VcrRequest,
  response: Omit<VcrRequest, 'method'>,
  status: number,
): Interaction {
  const requestHeaders = headersFromLists(request.headers)
  const responseHeaders = headersFromLists(response.headers)
  return {
    ...address(url),
    method: request.method,
    requestHeaders,
    requestBody: requestText(request.body, requestHeaders),
    status,
    responseHeaders,
    responseBody: responseBytes(response.body, responseHeaders),
  }
}

/** Reads an exchange in the format that VCR of Ruby, of R, and vcrpy write. */
export const readVcr: ImportFormat['read'] = (item) => {
  const { request, response } = exchange.parse(item)
  return interactionOf(request.uri, request, response, response.status)
}
