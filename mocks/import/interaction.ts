// One request with its answer, as readers of other projects' files return it, and how they decode bodies.
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib'
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
