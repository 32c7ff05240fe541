/** Removes the client's key from a query, where Google's clients may put it; the rest keeps its bytes. */
export const withoutKey = (query: string): string =>
  query
    .split('&')
    .filter((pair) => !new URLSearchParams(pair).has('key'))
    .join('&')
