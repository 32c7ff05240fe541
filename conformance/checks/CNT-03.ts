// CNT-03: A failed count does not cool its target down and does not count as a failure of the target.
import { nonceIn, writeNonce } from '../../mocks/ledger.ts'
import { ref, requestsOf, where } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  count: step('the count fails'),
  call: step('call'),
}

export const failedCountsCoolNothing = {
  id: 'CNT-03',
  needs: ['messages', 'logical'],
  dialect: 'messages',
  async exercise(session) {
    const [table] = session.target.models.logical
    for (let n = 0; n < 3; n++) {
      const nonce = session.nonce()
      await session.mock.script(nonce, [{ kind: 'token_count', status: 500, refusal: 'synthetic 500' }])
      const messages = [{ role: 'user', content: `Count. ${writeNonce(nonce)}` }]
      await session.ask(steps.count, '/v1/messages/count_tokens', {
        method: 'POST',
        headers: session.callHeaders,
        body: JSON.stringify({ model: table!.id, messages }),
      })
    }
    await session.chat(steps.call, { model: table!.id })
  },
  judge: ({ evidence, target }) => {
    const failed = steps.count
      .in(evidence)
      .flatMap(({ request }) =>
        evidence.ledger.filter(
          ({ nonce, answer }) => nonce === nonceIn(request.body ?? '') && answer.status === 500,
        ),
      )
    const first = where(target.models.logical[0]!.targets[0]!)
    return steps.call.in(evidence).map((exchange) => {
      const went = requestsOf(evidence, exchange).map(where)
      return finding(
        'target-is-not-passed-over',
        failed.length > 0 && went.length === 1 && went[0] === first,
        `where a call went after ${failed.length} counts that the provider answered with 500`,
        { expected: `at least one of them, and then ${first}`, actual: went.join(', ') || 'nowhere' },
        [...failed, exchange].map(ref),
      )
    })
  },
} satisfies Check
