// ROUTE-09: A target that is cooling down is skipped while another target is ready. `Retry-After` is honoured. Only
// live traffic tests whether a target has recovered.

import { clock } from '../../src/shared/clock.ts'
import { ref, refs, requestsOf, where } from '../dialects/lookup.ts'
import { scriptedFailure } from '../dialects/scripted.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'
import { A, B, repeat, repeatedCall, resolveOf, resolveStep } from './route.ts'

const steps = {
  cools: step('cools'),
  again: step('again'),
}

/** Seconds in the provider's `Retry-After`: time for a few calls, longer on a busy machine. */
const RETRY_AFTER = [3, 15, 45] as const

async function coolDown(session: CheckContext, seconds: number): Promise<void> {
  const busy = { ...scriptedFailure(429), headers: { 'retry-after': String(seconds) } }
  session.note('retry_after', seconds)
  await session.chat(steps.cools, {
    model: 'priority',
    script: [{ provider: 'openai', model: 'gpt-5-mini', ...busy }, { scenario: 'plain' }],
  })
  await resolveOf(session, 'priority')
  await repeat(session, 3, 'priority')
  const [cools] = steps.cools.in(await session.soFar()).slice(-1)
  await session.wait(Math.max(0, cools!.end_at + seconds * 1_000 + 500 - clock.monotonic()))
  await session.chat(steps.again, { model: 'priority' })
}

/**
 * Returns calls made while the target cooled down in the last round. Calls that a slow machine made too late
 * prove nothing.
 */
function inTime({ exchanges, facts }: Pick<Evidence, 'exchanges' | 'facts'>) {
  const cools = steps.cools.in({ exchanges }).at(-1)!
  const until = cools.at + Number(facts.retry_after ?? RETRY_AFTER[0]) * 1_000
  const early = <E extends Exchange>(all: readonly E[]) =>
    all.filter(({ at, end_at }) => at >= cools.at && end_at < until)
  return {
    cools,
    calls: early(repeatedCall.in({ exchanges })),
    resolved: early(resolveStep.in({ exchanges })),
  }
}

export const coolingIsHonoured = {
  id: 'ROUTE-09',
  needs: ['variant:strategies'],
  timeout: 90_000,
  async exercise(session) {
    for (const seconds of RETRY_AFTER) {
      await session.another('strategies')
      await coolDown(session, seconds)
      const { calls, resolved } = inTime(await session.soFar())
      if (calls.length > 0 && resolved.length > 0) break
    }
  },
  judge({ evidence }) {
    const { cools, calls: meanwhile, resolved } = inTime(evidence)
    const again = steps.again.in(evidence).at(-1)!
    // Entries without a nonce of the suite's calls.
    const ours = new Set(evidence.exchanges.map(({ nonce }) => nonce))
    const probes = evidence.ledger.filter(
      ({ at, nonce }) => at > cools.at && (nonce === null || !ours.has(nonce)),
    )
    const state = at(jsonOf(resolved[0]?.body ?? ''), '/candidates/0/state')
    const late = (id: string, what: string) =>
      doubt(id, `${what}: the machine was too slow to ask while the target cooled`, [ref(cools)])
    const went = meanwhile.map((exchange) => requestsOf(evidence, exchange).map(where).join(', '))
    return [
      finding(
        '429-moves-on',
        requestsOf(evidence, cools).map(where).join() === [A, B].join(),
        'where a call went whose first target answered 429',
        { expected: `${A}, then ${B}`, actual: listed(requestsOf(evidence, cools).map(where)) },
        refs(cools),
      ),
      resolved.length === 0
        ? late('resolve-says-cooling', 'what resolve says of that target')
        : finding(
            'resolve-says-cooling',
            state === 'cooling',
            'what resolve says of that target',
            { expected: 'cooling', actual: String(state) },
            refs(resolved[0]),
          ),
      went.length === 0
        ? late('cooling-is-passed-over', 'where calls went while it cooled')
        : finding(
            'cooling-is-passed-over',
            went.every((target) => target === B),
            'where calls went while it cooled',
            { expected: B, actual: listed(went) },
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
        `where the next call went after its Retry-After of ${evidence.facts.retry_after ?? RETRY_AFTER[0]} s`,
        { expected: A, actual: listed(requestsOf(evidence, again).map(where)) },
        refs(again),
      ),
    ]
  },
} satisfies Check
