// Addresses of AWS. Imports no other file.

/** Returns the region that an address of AWS names; null for any other address. */
export const regionIn = (hostname: string): string | null =>
  /(?:^|[.-])([a-z]{2}(?:-[a-z]+){1,3}-\d)\./.exec(hostname)?.[1] ?? null
