// RSP-11: `x-codex-turn-state` is relayed in both directions.

import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { response } from './responses.ts'

const steps = {
  told: step('the provider tells a state'),
  returned: step('the client returns it'),
}

const NAME = 'x-codex-turn-state'
const STATE = 'state-of-the-provider+/=='

export const turnState = {
  id: 'RSP-11',
  needs: ['responses'],
  dialect: 'responses',
  relays: true,
  async exercise(session) {
    const script = [{ headers: { [NAME]: STATE }, body: response() }]
    const { headers } = await session.chat(steps.told, { script })
    // A client returns the received value unchanged, even if a gateway wraps it.
    await session.chat(steps.returned, { headers: { [NAME]: headers[NAME] ?? STATE } })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const back = exchange.step === steps.returned.step
      const got = back ? entry?.headers[NAME] : exchange.headers[NAME]
      return [
        finding(
          back ? 'state-goes-back' : 'state-is-told',
          back ? got === STATE : Boolean(got),
          back ? 'the state that the provider got back' : 'the state that the client got',
          { expected: back ? STATE : 'one', actual: got ?? 'none' },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check
