// KEEP-11: With several keys for a provider, all calls of a session are sent with the same key, as long as the
// provider refuses none of them.
import { secondKeyOf } from '../../mocks/server/secrets.ts'
import { ref, refs, requestsOf } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { type Check, doubt, finding } from '../runner/check.ts'

const call = step<{ session: number }>('call')

/** Name under which the mock searches for the second key. */
const SECOND = 'second key of the provider'

/**
 * Sessions that call in a different order in each round, so that rotation of keys does not look like a fixed
 * key for each session.
 */
const ORDERS = [
  [0, 1, 2, 3],
  [1, 0, 3, 2],
  [3, 3, 1, 2, 0],
]

export const sessionsKeepTheirKey = {
  id: 'KEEP-11',
  needs: ['session', 'key_pool', 'variant:key-pool'],
  async exercise(session) {
    const { model, provider } = session.target.capabilities.key_pool!
    const { header } = session.target.capabilities.session!
    await session.another('key-pool')
    const key = session.providerKeys().find(([name]) => name === `mock.${provider}.key`)![1]
    await session.watchForSecret(SECOND, secondKeyOf(key))
    const run = session.nonce()
    for (const order of ORDERS)
      for (const n of order)
        await session.chat(call.with({ session: n }), { model, headers: { [header]: `${run}-${n}` } })
  },
  judge({ evidence, target }) {
    const { provider } = target.capabilities.key_pool!
    return [0, 1, 2, 3].map((session) => {
      const calls = call.in(evidence).filter(({ details }) => details.session === session)
      const requests = calls
        .flatMap((exchange) => requestsOf(evidence, exchange))
        .filter((entry) => entry.provider === provider && entry.credential === 'match')
      if (requests.length < 2)
        return doubt(
          'session-keeps-its-key',
          `${requests.length} of ${calls.length} calls of a session reached ${provider} with one of its keys.`,
          refs(...calls),
        )
      const keys = requests.map(({ canaries }) => (canaries.includes(SECOND) ? 'second' : 'first'))
      return finding(
        'session-keeps-its-key',
        new Set(keys).size === 1,
        'the keys with which the calls of a session reached the provider',
        { expected: 'one of them', actual: keys.join(', ') },
        requests.map(ref),
      )
    })
  },
} satisfies Check
