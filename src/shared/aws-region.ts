// Regions in AWS addresses. Imports no other file.

/** Returns the region in an AWS address; null for any other address. */
export const regionIn = (hostname: string): string | null =>
  /(?:^|[.-])([a-z]{2}(?:-[a-z]+){1,3}-\d)\./.exec(hostname)?.[1] ?? null
