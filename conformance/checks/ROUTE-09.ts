// ROUTE-09: A cooling target is passed over while another is ready; `Retry-After` is honoured; recovery is tried by
// live traffic only.
import { type Check, finding } from '../check.ts'
import { labelled, ref, refs, requestsOf, where } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { failure } from '../scripted.ts'
import { A, B, repeat, resolveOf } from './route.ts'

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
    await session.chat('cools', {
      model: 'priority',
      script: [{ provider: 'openai', model: 'gpt-5-mini', ...busy }, { scenario: 'plain' }],
    })
    await resolveOf(session, 'priority', 'resolve')
    await repeat(session, 3, 'priority')
    session.mark('waiting_from')
    await session.wait(RETRY_AFTER * 1_000 + 200)
    session.mark('waiting_to')
    await session.chat('again', { model: 'priority' })
  },
  judge({ evidence }) {
    const [cools, again] = [labelled(evidence, 'cools')[0]!, labelled(evidence, 'again')[0]!]
    const { waiting_from: from = 0, waiting_to: to = 0 } = evidence.marks
    const probes = evidence.ledger.filter(({ at: time }) => time > from && time < to)
    const state = at(jsonOf(labelled(evidence, 'resolve')[0]!.body), '/candidates/0/state')
    // What a slow machine asked too late proves nothing: it may be well again.
    const meanwhile = labelled(evidence, 'priority').filter(
      ({ end_at }) => end_at < cools.at + RETRY_AFTER * 1_000,
    )
    const went = meanwhile.map((exchange) => requestsOf(evidence, exchange).map(where).join(', '))
    return [
      finding(
        '429-moves-on',
        requestsOf(evidence, cools).map(where).join() === [A, B].join(),
        `a 429 moved the call on: ${requestsOf(evidence, cools).map(where).join(', ')}`,
        refs(cools),
      ),
      finding(
        'resolve-says-cooling',
        state === 'cooling',
        `resolve says that it is ${state}`,
        refs(labelled(evidence, 'resolve')[0]),
      ),
      finding(
        'cooling-is-passed-over',
        went.length > 0 && went.every((target) => target === B),
        `while it cools, calls went to ${went.join(', ')}`,
        meanwhile.map(ref),
      ),
      finding('no-health-calls', probes.length === 0, `${probes.length} requests while nothing was asked`),
      finding(
        'returns-after-retry-after',
        requestsOf(evidence, again).map(where).join() === A,
        `after its Retry-After of ${RETRY_AFTER} s the next call went to ${requestsOf(evidence, again).map(where).join(', ')}`,
        refs(again),
      ),
    ]
  },
} satisfies Check
