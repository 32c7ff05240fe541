/**
 * Removes the client's key from a query, since Google's clients may send it there. The rest keeps its bytes.
 */
export const withoutKey = (query: string): string =>
  query
    .split('&')
    .filter((pair) => !new URLSearchParams(pair).has('key'))
    .join('&')
