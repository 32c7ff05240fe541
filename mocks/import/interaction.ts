// What every foreign format is read into: one HTTP exchange, plain. Knows no format and does not redact.
import { gunzipSync } from 'node:zlib'

/** One exchange of a foreign recording. Header names are lower case; repeated headers are joined by ", ". */
export interface Interaction {
  /** As recorded, query and placeholders such as `<API_BASE>` included. */
  readonly url: string
  /** The host with its port, or the placeholder that stands for it; never a user's name and password. */
  readonly host: string
  /** Without the query. */
  readonly path: string
  readonly method: string
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly requestBody: string | null
  readonly status: number
  readonly responseHeaders: Readonly<Record<string, string>>
  /** After content decoding, whatever the headers still say. */
  readonly responseBody: Buffer
}

/** Splits a recorded address, also one that begins with a project's placeholder and is no URL. */
export function address(url: string): Pick<Interaction, 'url' | 'host' | 'path'> {
  const [, host = '', path = ''] = /^(?:[a-z]+:\/\/)?(?:[^/?#]*@)?([^/?#]*)([^?#]*)/i.exec(url) ?? []
  return { url, host, path: path || '/' }
}

/** Formats that keep lists: name -> values. */
export function headersFromLists(lists: Readonly<Record<string, readonly string[]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(lists).map(([name, values]) => [name.toLowerCase(), values.join(', ')]),
  )
}

/** Some formats keep the body as it came over the wire. The bytes decide: headers outlive their encoding. */
export function plain(body: Buffer): Buffer {
  return body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body) : body
}
