// Common form of every foreign format: one plain HTTP exchange. Knows no format and does not redact.

/** Exchange of a foreign recording. Header names are lower case; repeated headers are joined by ", ". */
export interface Interaction {
  /** As recorded, query and placeholders such as `<API_BASE>` included. */
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
  /** Decoded, whatever the headers say. */
  readonly responseBody: Buffer
}

/** Exchange that cannot be read, with the reason in one line. */
export interface Unreadable {
  readonly refused: string
}

/** Reader of a format. */
export interface ImportFormat {
  readonly name: string
  /** Reads one exchange. Throws if it violates the format. */
  read(item: unknown): Interaction
  /** Checks at its end that a file is complete; returns what is missing, or null. */
  cut(text: string, last: unknown): string | null
}

/** Splits a recorded address, even one that begins with a project's placeholder and is no URL. */
export function address(url: string): Pick<Interaction, 'url' | 'host' | 'path'> {
  const [, host = '', path = ''] = /^(?:[a-z]+:\/\/)?(?:[^/?#]*@)?([^/?#]*)([^?#]*)/i.exec(url) ?? []
  return { url, host, path: path || '/' }
}

/** Joins headers that a format stores as lists: name -> values. */
export function headersFromLists(lists: Readonly<Record<string, readonly string[]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(lists).map(([name, values]) => [name.toLowerCase(), values.join(', ')]),
  )
}

/** Joins headers that a format stores as pairs; a name may occur twice. */
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
