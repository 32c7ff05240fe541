// KEEP-10: A caller's own credential reaches only the provider that is configured to accept it, and only with the
// caller's own calls. No other provider gets it after a fallback, no call of another client contains it, and the
// gateway's key is not sent with it.
import { ref, refs, requestsOf } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'

const steps = {
  own: step('with an own credential'),
  fails: step('its provider fails'),
  other: step('another client without a credential'),
}

/** Names under which the mock searches for the credential, and for the gateway's key in the same call. */
const CREDENTIAL = 'credential of the caller'
const GATEWAY_KEY = 'gateway key beside a credential'

const FAILED = { error: { message: 'Not now. This is synthetic.', type: 'server_error' } }

export const callersCredentialStays = {
  id: 'KEEP-10',
  needs: ['caller_credentials', 'variant:caller'],
  async exercise(session) {
    const { model, provider, key_header } = session.target.capabilities.caller_credentials!
    const { keys } = await session.another('caller')
    const credential = session.providerKeys().find(([name]) => name === `mock.${provider}.key`)![1]
    await session.watchForSecret(CREDENTIAL, credential)
    if (keys.client !== null) await session.watchForSecret(GATEWAY_KEY, keys.client)
    const as = (key: string | null) => ({ ...(key !== null && { [key_header]: key }) })
    const own = { key: null, headers: { ...as(keys.client), authorization: `Bearer ${credential}` } }
    await session.chat(steps.own, { model, ...own })
    await session.chat(steps.fails, {
      ...{ model, ...own },
      script: [
        { provider, status: 503, body: FAILED, times: 'every' },
        { scenario: 'plain', times: 'every' },
      ],
    })
    await session.chat(steps.other, { model, key: null, headers: as(keys.other) })
  },
  judge({ evidence, target }) {
    const { provider } = target.capabilities.caller_credentials!
    const [own, fails, other] = [steps.own, steps.fails, steps.other].map((each) => each.in(evidence)[0]!)
    const requests = (exchange: Exchange | undefined) => (exchange ? requestsOf(evidence, exchange) : [])
    const carrying = (exchange: Exchange | undefined, isMeant: (provider: string) => boolean) =>
      requests(exchange).filter((entry) => !isMeant(entry.provider) && entry.canaries.includes(CREDENTIAL))
    const there = requests(own).filter((entry) => entry.provider === provider)
    const none = (
      id: string,
      exchange: Exchange | undefined,
      what: string,
      isMeant = (_: string) => false,
    ) => {
      const found = carrying(exchange, isMeant)
      return finding(
        id,
        found.length === 0,
        what,
        { expected: 'none', actual: found.map((entry) => entry.provider).join(', ') || 'none' },
        refs(exchange, ...found),
      )
    }
    const withKey = evidence.ledger.filter(({ canaries }) => canaries.includes(GATEWAY_KEY))
    return [
      there.length === 0
        ? doubt('reaches-its-provider', `The call ended with ${endText(own!)} before ${provider} got it.`, [
            ref(own!),
          ])
        : finding(
            'reaches-its-provider',
            there.some(({ credential }) => credential === 'match'),
            `the credential of a call at ${provider}`,
            { expected: "the caller's", actual: there.map(({ credential }) => credential).join(', ') },
            refs(own, ...there),
          ),
      none(
        'not-on-fallback',
        fails,
        "other providers that got the caller's credential after a failure",
        (name) => name === provider,
      ),
      none('not-lent', other, "providers that got it with another client's call"),
      finding(
        'gateway-key-stays',
        withKey.length === 0,
        "requests to providers with the gateway's key",
        { expected: 'none', actual: String(withKey.length) },
        refs(...withKey),
      ),
    ]
  },
} satisfies Check
