// What every foreign format is read into: one HTTP exchange, plain. Knows no format and does not redact.

/** One exchange of a foreign recording. Header names are lower case; repeated headers are joined by ", ". */
export interface Interaction {
  /** As recorded, query and placeholders such as `<API_BASE>` included. */
  readonly url: string
  /** The host with its port, or the placeholder that stands for it; never a user's name and password. Empty: unknown. */
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

/** An exchange that cannot be read, and why, in one line. */
export interface Unreadable {
  readonly refused: string
}

/** How the exchanges of a format are read. */
export interface Format {
  readonly name: string
  /** One exchange. Throws when it does not keep to the format. */
  read(item: unknown): Interaction
  /** How the end of a file shows that it is whole; says what is missing, or null. */
  cut(text: string, last: unknown): string | null
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

/** Formats that keep pairs; a name may come twice. */
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
