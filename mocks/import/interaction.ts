// Common form of all foreign formats: one plain HTTP exchange. Independent of formats; does not redact.

/** Exchange from a foreign recording. Header names are lower case; repeated headers are joined by ", ". */
export interface Interaction {
  /** Address as recorded, including the query and placeholders such as `<API_BASE>`. */
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

/** Reader of a format. */
export interface ImportFormat {
  readonly name: string
  /** Reads one exchange. Throws if it violates the format. */
  read(item: unknown): Interaction
  /** Checks the end of a file for completeness; returns the missing part, or null. */
  cut(text: string, last: unknown): string | null
}

/** Splits a recorded address, even if it begins with a project's placeholder and is therefore not a URL. */
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
