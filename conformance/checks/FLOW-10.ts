// FLOW-10: A slow client slows the provider down instead of filling memory.
import { type Check, finding } from '../check.ts'
import { ref } from '../lookup.ts'

/** What may lie in the buffers of systems and gateways when nobody reads, of 64 MiB. The control behind two more connections had 18.3 MB. */
const IN_BETWEEN = 32 * 2 ** 20

export const slowClientSlowsUpstream = {
  id: 'FLOW-10',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const call = await session.openChat('slow', {
      stream: true,
      script: [{ scenario: 'flood' }],
      timeout: 30_000,
    })
    await call.until((body) => body.length > 0, 5_000)
    call.pause()
    await session.wait(3_000)
    const entry = await session.witness.seen(call.nonce, 1)
    session.note('taken', entry?.answer.bytes ?? null)
    session.note('complete', entry?.answer.complete ?? null)
    call.leave()
    await call.done
  },
  judge({ evidence }) {
    const taken = evidence.facts.taken as number | null
    const ok = taken !== null && taken < IN_BETWEEN && evidence.facts.complete === false
    return [
      finding(
        'provider-is-slowed-down',
        ok,
        `while the client read nothing for 3 s, ${taken === null ? 'nobody knows how many' : taken} bytes were taken from the provider; allowed ${IN_BETWEEN}`,
        evidence.exchanges.map(ref),
      ),
    ]
  },
} satisfies Check
