// RSP-04: `encrypted_content` arrives unchanged in both directions.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { inWords, step } from '../step.ts'
import { isCrossed } from '../surfaces.ts'

const steps = {
  told: step('told'),
  returned: step('returned'),
}

const SEALED = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'c2VhbGVkIHRob3VnaHRz/+==' }
const SAID = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: 'said', annotations: [] }],
}
const ANSWER = {
  ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'synthetic' },
  ...{ error: null, incomplete_details: null, output: [SEALED, SAID] },
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
}

export const encryptedUnchanged = {
  id: 'RSP-04',
  needs: ['responses'],
  surface: 'responses',
  relays: true,
  async exercise(session) {
    await session.chat(steps.told, {
      script: [{ body: ANSWER }],
      body: { store: false, include: ['reasoning.encrypted_content'] },
    })
    const input = [
      { role: 'user', content: 'Think.' },
      SEALED,
      { role: 'user', content: `Go on. waybill-nonce-${session.nonce()}` },
    ]
    await session.chat(steps.returned, { body: { store: false, input } })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.flatMap((exchange) => {
      const back = exchange.step === steps.returned.step
      const entry = back
        ? (evidence.ledger.find(({ at, kind }) => kind === 'inference' && at >= exchange.at) ?? null)
        : servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const got = back
        ? at(entry?.body, '/input/1/encrypted_content')
        : at(jsonOf(exchange.body), '/output/0/encrypted_content')
      return [
        finding(
          back ? 'sealed-goes-back' : 'sealed-is-unchanged',
          isDeepStrictEqual(got, SEALED.encrypted_content),
          `the encrypted reasoning of "${inWords(exchange)}"`,
          { expected: SEALED.encrypted_content, actual: JSON.stringify(got) ?? 'none' },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check
