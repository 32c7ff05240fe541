// KEEP-02: The client's gateway key never reaches the provider. The provider's key never reaches the client, even
// if a provider echoes it in an error or in an answer. (Waybill: in relayed calls, in errors, in headers and
// wherever the body is read; see PASS-02.)

import { ref } from '../dialects/lookup.ts'
import { secretsIn } from '../evidence/secrets.ts'
import { step } from '../evidence/step.ts'
import { secrets } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  authorization: step('authorization'),
  xApiKey: step('x-api-key'),
  streamed: step('streamed'),
}

export const keysDoNotCross = {
  id: 'KEEP-02',
  needs: ['gateway_keys'],
  async exercise(session) {
    const { client } = session.running.keys
    if (client === null)
      return session.untestable('the target file declares gateway keys, but none is in use')
    await session.chat(steps.authorization, { key: client })
    await session.chat(steps.xApiKey, { key: null, headers: { 'x-api-key': client } })
    await session.chat(steps.streamed, { stream: true })
  },
  judge({ evidence }) {
    const reached = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const leaked = evidence.ledger.filter(({ canaries }) => canaries.some((name) => name.startsWith('key.')))
    return [
      finding(
        'calls-reach-a-provider',
        reached.length > 0,
        'calls that reached the provider',
        { expected: 'at least one', actual: String(reached.length) },
        reached.map((entry) => `@${entry.n}`),
      ),
      finding(
        'no-gateway-key-at-a-provider',
        leaked.length === 0,
        'requests to the provider with a gateway key in them',
        { expected: 'none', actual: String(leaked.length) },
        leaked.map((entry) => `@${entry.n}`),
      ),
      ...evidence.exchanges.map((exchange) => {
        const found = secretsIn(exchange)
        return finding(
          'no-key-in-answers',
          found.length === 0,
          `the answer to the call "${exchange.step}"`,
          { expected: 'no key in it', actual: secrets(found) || 'none' },
          [ref(exchange)],
        )
      }),
    ]
  },
} satisfies Check
