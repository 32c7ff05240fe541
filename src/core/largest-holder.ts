// Chooses the work to drop when memory is short: the work of the key that holds the most bytes. This prevents
// one key from displacing all other keys.

export interface HolderShare {
  readonly keyName: string | null
  readonly bytes: number
}

/** Returns the shares of the key that holds the most bytes, in order. */
export function ofGreediest<S extends HolderShare>(shares: Iterable<S>): S[] {
  const byKey = new Map<string | null, { bytes: number; shares: S[] }>()
  let most = { bytes: 0, shares: [] as S[] }
  for (const share of shares) {
    const all = byKey.get(share.keyName) ?? { bytes: 0, shares: [] }
    byKey.set(share.keyName, all)
    all.bytes += share.bytes
    all.shares.push(share)
    if (all.bytes > most.bytes) most = all
  }
  return most.shares
}
