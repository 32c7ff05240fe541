// Adapts a mock in this process to the interface that the control port also offers.
import type { MockProviders } from '../../mocks/server/create.ts'
import { secondKeyOf } from '../../mocks/server/secrets.ts'
import type { MockControl } from '../runner/context.ts'
import type { Values } from '../target/template.ts'

export const controlOf = (mock: MockProviders): MockControl => ({
  entries: async (since) => mock.entries(since),
  seen: (nonce, ms) => mock.seen(nonce, ms).catch(() => null),
  script: async (nonce, answers) => mock.script(nonce, answers),
  release: async (gate) => mock.release(gate),
  setReachable: (reachable) => mock.setReachable(reachable),
  watchFor: async (name, secret) => mock.watchFor(name, secret),
})

/**
 * Returns `mock.openai.base_url`, `.root` (the same without /v1), `.key` and `.second_key` for every
 * provider, `mock.url`, and `mock.host`, its host and port.
 */
export function valuesOf(mock: Pick<MockProviders, 'url' | 'providers' | 'baseUrl' | 'key'>): Values {
  const values: Record<string, string> = { 'mock.url': mock.url, 'mock.host': new URL(mock.url).host }
  for (const provider of mock.providers) {
    values[`mock.${provider}.base_url`] = mock.baseUrl(provider)
    values[`mock.${provider}.root`] = mock.baseUrl(provider).replace(/\/v1$/, '')
    values[`mock.${provider}.key`] = mock.key(provider)
    values[`mock.${provider}.second_key`] = secondKeyOf(mock.key(provider))
  }
  return values
}
