// RSP-04: `encrypted_content` arrives unchanged in both directions.
import { isDeepStrictEqual } from 'node:util'
import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { response, SEALED } from './responses.ts'

const steps = {
  told: step('told'),
  returned: step('returned'),
}

export const encryptedUnchanged = {
  id: 'RSP-04',
  needs: ['responses'],
  dialect: 'responses',
  relays: true,
  async exercise(session) {
    await session.chat(steps.told, {
      script: [{ body: response([SEALED]) }],
      body: { store: false, include: ['reasoning.encrypted_content'] },
    })
    const input = [{ role: 'user', content: 'Think.' }, SEALED, { role: 'user', content: 'Go on. {nonce}' }]
    await session.chat(steps.returned, { body: { store: false, input } })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.flatMap((exchange) => {
      const back = exchange.step === steps.returned.step
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const got = back
        ? at(entry?.body, '/input/1/encrypted_content')
        : at(jsonOf(exchange.body), '/output/0/encrypted_content')
      return [
        finding(
          back ? 'sealed-goes-back' : 'sealed-is-unchanged',
          isDeepStrictEqual(got, SEALED.encrypted_content),
          `the encrypted reasoning of "${stepText(exchange)}"`,
          { expected: SEALED.encrypted_content, actual: JSON.stringify(got) ?? 'none' },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check
