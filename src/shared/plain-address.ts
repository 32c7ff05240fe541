// The parts of an address that are no secret. Imports no other file.

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
