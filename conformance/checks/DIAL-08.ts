// DIAL-08: Sealed reasoning that passed through a client of another dialect returns byte for byte to the family that
// made it.
import { isDeepStrictEqual } from 'node:util'
import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { type AnyJson, at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  told: step<{ model: string }>('thoughts are told'),
  returned: step<{ model: string }>('thoughts are returned'),
}

/** Returns a Messages provider's sealed blocks, from an answer or a request's history. */
const sealedIn = (content: unknown): AnyJson[] =>
  (Array.isArray(content) ? content : []).filter((block: AnyJson) => block?.type === 'thinking')

export const sealedComesBack = {
  id: 'DIAL-08',
  needs: ['responses'],
  dialect: 'responses',
  async exercise(session) {
    const body = { store: false, include: ['reasoning.encrypted_content'] }
    for (const model of modelsOf(session)) {
      const said = await session.chat(steps.told.with({ model }), {
        model,
        body,
        script: [{ scenario: 'reasoning' }],
      })
      const output = at(jsonOf(said.body), '/output')
      await session.chat(steps.returned.with({ model }), {
        model,
        body: {
          ...body,
          input: [...((output as object[]) ?? []), { role: 'user', content: 'Go on. {nonce}' }],
        },
      })
    }
    const sealed = (await session.soFar()).ledger.some(({ endpoint }) => endpoint === 'messages')
    if (!sealed) session.untestable('no model of this dialect goes to a provider of messages')
  },
  judge: ({ evidence }) =>
    steps.returned.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      const first = steps.told.in(evidence).find(({ details }) => details.model === exchange.details.model)
      const made = first && servedBy(evidence, first)
      const sent = sealedIn(at(jsonOf(made?.answer.body ?? ''), '/content'))
      if (!made || !isCrossed(first, made) || sent.length === 0) return []
      const history = at(entry?.body, '/messages') as AnyJson[] | undefined
      const got = sealedIn(history?.find(({ role }) => role === 'assistant')?.content)
      return [
        finding(
          'sealed-comes-back',
          isDeepStrictEqual(got, sent),
          `the thoughts in the provider's request of "${stepText(exchange)}"`,
          { expected: JSON.stringify(sent), actual: JSON.stringify(got) },
          refs(first, made, exchange, entry),
        ),
      ]
    }),
} satisfies Check
