// FIT-09: A gateway that learns from refusals does not send a refused parameter to the same model again in the next
// calls (nor after a restart, if its documentation says that it remembers).
import { ref, refs, requestsOf, where } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { step } from '../evidence/step.ts'
import { absent, type Check, finding } from '../runner/check.ts'

const steps = {
  refused: step('the provider refuses a parameter'),
  again: step<{ stream: boolean }>('the same call again'),
  restarted: step('the same call after a restart'),
}

const PARAMETER = 'temperature'
const BODY = { [PARAMETER]: 0.37 }
const REFUSED = {
  error: {
    message: `Unsupported parameter: '${PARAMETER}' is not supported with this model. This is synthetic.`,
    ...{ type: 'invalid_request_error', param: PARAMETER, code: 'unsupported_parameter' },
  },
}

export const refusalsAreNotForgotten = {
  id: 'FIT-09',
  needs: ['learns_refusals', 'variant:learns'],
  async exercise(session) {
    const { model, over_restarts, within_ms } = session.target.capabilities.learns_refusals!
    const running = await session.another('learns')
    const script = [{ status: 400, body: REFUSED }, { scenario: 'plain' }]
    await session.chat(steps.refused, { model, body: BODY, script })
    await session.wait(within_ms)
    for (const stream of [false, true])
      await session.chat(steps.again.with({ stream }), { model, stream, body: BODY })
    if (!over_restarts) return
    await running.stop()
    await running.start()
    await session.chat(steps.restarted, { model, body: BODY })
  },
  judge({ evidence }) {
    const requests = (exchange: Exchange) =>
      requestsOf(evidence, exchange).map((entry) => ({
        ...{ entry, place: where(entry) },
        hasIt: JSON.stringify(entry.body).includes(`"${PARAMETER}":`),
      }))
    const [first] = steps.refused.in(evidence)
    const refused = requests(first!).filter(({ entry, hasIt }) => hasIt && entry.answer.status === 400)
    if (refused.length === 0)
      return [absent('remembered', `No ${PARAMETER} reached the provider, so none was refused.`, refs(first))]
    // Another model may accept the parameter.
    const places = new Set(refused.map(({ place }) => place))
    const judged = (id: string, calls: readonly Exchange[], when: string) =>
      calls.map((exchange) => {
        const sent = requests(exchange).filter(({ place }) => places.has(place))
        return finding(
          id,
          sent.every(({ hasIt }) => !hasIt),
          `what reaches a model that has refused a parameter, ${when}`,
          {
            expected: `no ${PARAMETER}`,
            actual: sent.map(({ place, hasIt }) => `${place} ${hasIt ? 'with' : 'without'} it`).join(', '),
          },
          [ref(exchange), ...sent.map(({ entry }) => ref(entry))],
        )
      })
    return [
      ...judged('remembered', steps.again.in(evidence), 'in the next calls'),
      ...judged('over-a-restart', steps.restarted.in(evidence), 'after a restart'),
    ]
  },
} satisfies Check
