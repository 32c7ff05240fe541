// State of credentials that survives a replacement of the configuration.
import { PoolState } from './pool-key.ts'

export class CredentialMemory {
  readonly #pools = new Map<string, PoolState>()

  /** Returns the state of a provider's keys. */
  pool(provider: string): PoolState {
    const known = this.#pools.get(provider) ?? new PoolState()
    this.#pools.set(provider, known)
    return known
  }
}
