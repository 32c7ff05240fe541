// ROUTE-09: A cooling target is skipped while another is ready; `Retry-After` is honoured; only live traffic tests
// whether a target has recovered.
import { type Check, finding } from '../check.ts'
import { ref, refs, requestsOf, where } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { failure } from '../scripted.ts'
import { step } from '../step.ts'
import { listed } from '../words.ts'
import { A, B, call, repeat, resolve, resolveOf } from './route.ts'

const steps = {
  cools: step('cools'),
  again: step('again'),
}

/** So long the provider asks to be left alone, s: time for a few calls meanwhile, also on a busy machine. */
const RETRY_AFTER = 3

export const coolingIsHonoured = {
  id: 'ROUTE-09',
  needs: ['variant:strategies'],
  async exercise(session) {
    await session.another('strategies')
    const busy = {
      ...failure(429),
      headers: { 'retry-after': String(RETRY_AFTER) },
    }
    await session.chat(steps.cools, {
      model: 'priority',
      script: [{ provider: 'openai', model: 'gpt-5-mini', ...busy }, { scenario: 'plain' }],
    })
    await resolveOf(session, 'priority')
    await repeat(session, 3, 'priority')
    await session.wait(RETRY_AFTER * 1_000 + 200)
    await session.chat(steps.again, { model: 'priority' })
  },
  judge({ evidence }) {
    const [cools, again] = [steps.cools.in(evidence)[0]!, steps.again.in(evidence)[0]!]
    // Whatever carries no mark of one of our calls.
    const ours = new Set(evidence.exchanges.map(({ nonce }) => nonce))
    const probes = evidence.ledger.filter(
      ({ at, nonce }) => at > cools.at && (nonce === null || !ours.has(nonce)),
    )
    const state = at(jsonOf(resolve.in(evidence)[0]!.body), '/candidates/0/state')
    // What a slow machine asked too late proves nothing: it may be well again.
    const meanwhile = call.in(evidence).filter(({ end_at }) => end_at < cools.at + RETRY_AFTER * 1_000)
    const went = meanwhile.map((exchange) => requestsOf(evidence, exchange).map(where).join(', '))
    return [
      finding(
        '429-moves-on',
        requestsOf(evidence, cools).map(where).join() === [A, B].join(),
        'where a call went whose first target answered 429',
        { expected: `${A}, then ${B}`, actual: listed(requestsOf(evidence, cools).map(where)) },
        refs(cools),
      ),
      finding(
        'resolve-says-cooling',
        state === 'cooling',
        'what resolve says of that target',
        { expected: 'cooling', actual: String(state) },
        refs(resolve.in(evidence)[0]),
      ),
      finding(
        'cooling-is-passed-over',
        went.length > 0 && went.every((target) => target === B),
        'where calls went while it cooled',
        { expected: `${B}, and at least one call`, actual: listed(went) },
        meanwhile.map(ref),
      ),
      finding(
        'no-health-calls',
        probes.length === 0,
        'requests that no call asked for',
        { expected: 'none', actual: String(probes.length) },
        refs(...probes),
      ),
      finding(
        'returns-after-retry-after',
        requestsOf(evidence, again).map(where).join() === A,
        `where the next call went after its Retry-After of ${RETRY_AFTER} s`,
        { expected: A, actual: listed(requestsOf(evidence, again).map(where)) },
        refs(again),
      ),
    ]
  },
} satisfies Check
