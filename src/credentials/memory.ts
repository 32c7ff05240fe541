// What credentials remember when the configuration is replaced.
import { PoolState } from './pool-key.ts'

export class CredentialMemory {
  readonly #pools = new Map<string, PoolState>()

  /** Returns how the keys of a provider stand. */
  pool(provider: string): PoolState {
    const known = this.#pools.get(provider) ?? new PoolState()
    this.#pools.set(provider, known)
    return known
  }
}
