// Parts of an address: those that are no secret, a region of AWS, a query without the client's key. Imports no other
// file.
/** An end of a path that may hold a credential, plain or percent-encoded: a query, a fragment or `;name=value`. */
const TAIL = /([?#;]|%3[fb]|%23).*$/is

/**
 * An address with a colon before its path and an @ after it, such as `https://user:12/34@host`: a parser may take a
 * password for a port and a path.
 */
const UNCLEAR = /^\w+:[/\\]*[^/\\?#@]*:[^/\\?#@]*[/\\?#].*[^/]@/s

/**
 * Returns an address without user, password, query and fragment, each of which may hold a credential. Of an address
 * that cannot be read, returns only what comes after the last @.
 */
export function plainAddress(address: string): string {
  const url = UNCLEAR.test(address) ? null : URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol))
    return address
      .replace(/^.*(@|%40)/is, '')
      .replace(TAIL, '')
      .trim()
  const path = address.replace(/^\s*https?:[/\\]*[^/\\?#]*/i, '')
  if (!url.username && !url.password && !TAIL.test(path)) return address
  return `${url.protocol}//${url.host}${path.replace(TAIL, '')}`.trim()
}

/** Returns true if an address has parts that may hold a credential. */
export const holdsCredential = (address: string): boolean => plainAddress(address) !== address

/** Returns the region in an AWS address; null for any other address. */
export const regionIn = (hostname: string): string | null =>
  /(?:^|[.-])([a-z]{2}(?:-[a-z]+){1,3}-\d)\./.exec(hostname)?.[1] ?? null

/**
 * Removes the client's key from a query, since Google's clients may send it there. The rest keeps its bytes.
 */
export const withoutKey = (query: string): string =>
  query
    .split('&')
    .filter((pair) => !new URLSearchParams(pair).has('key'))
    .join('&')
