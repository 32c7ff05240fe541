// The mock as the suite sees it: adapts the object of this process to the interface that the control port
// offers too.
import type { Witness } from '../../mocks/server/create.ts'
import type { WitnessControl } from '../runner/context.ts'
import type { Values } from '../target/template.ts'

export const controlOf = (witness: Witness): WitnessControl => ({
  entries: async (since) => witness.entries(since),
  seen: (nonce, ms) => witness.seen(nonce, ms).catch(() => null),
  script: async (nonce, answers) => witness.script(nonce, answers),
  release: async (gate) => witness.release(gate),
  setReachable: (reachable) => witness.setReachable(reachable),
  watchFor: async (name, secret) => witness.watchFor(name, secret),
})

/**
 * Returns `witness.openai.base_url`, `.root` (the same without /v1) and `.key` for every provider, and
 * `witness.url`.
 */
export function valuesOf(witness: Pick<Witness, 'url' | 'providers' | 'baseUrl' | 'key'>): Values {
  const values: Record<string, string> = { 'witness.url': witness.url }
  for (const provider of witness.providers) {
    values[`witness.${provider}.base_url`] = witness.baseUrl(provider)
    values[`witness.${provider}.root`] = witness.baseUrl(provider).replace(/\/v1$/, '')
    values[`witness.${provider}.key`] = witness.key(provider)
  }
  return values
}
