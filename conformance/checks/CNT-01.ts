// CNT-01: Counting tokens causes no inference (Waybill: it makes no record and does not count against a rate or
// budget).
import { writeNonce } from '../../mocks/ledger.ts'
import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'

const count = step<{ model: string }>('count')
/** Step of CNT-04, which makes many counts at the same time. */
export const many = step('count, one of many')

function ask(session: CheckContext, each: Parameters<CheckContext['ask']>[0], model: string) {
  const body = { model, messages: [{ role: 'user', content: `Count. ${writeNonce(session.nonce())}` }] }
  return session.ask(each, '/v1/messages/count_tokens', {
    method: 'POST',
    headers: session.callHeaders,
    body: JSON.stringify(body),
  })
}

export const countsNeverSpend = {
  id: 'CNT-01',
  needs: ['counts'],
  dialect: 'messages',
  async exercise(session) {
    const { direct, logical } = session.target.models
    for (const { id } of [...logical, ...direct]) await ask(session, count.with({ model: id }), id)
    await Promise.all(Array.from({ length: 25 }, () => ask(session, many, session.model)))
    await session.drain()
  },
  judge: ({ evidence }) => {
    const spent = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const asked = evidence.exchanges
    return [
      finding(
        'counts-never-spend',
        asked.length > 25 && spent.length === 0,
        `inferences while tokens were counted ${asked.length} times`,
        { expected: 'none', actual: String(spent.length) },
        [...asked.slice(0, 1), ...spent].map(ref),
      ),
    ]
  },
} satisfies Check
