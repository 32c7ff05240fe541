// FLOW-10: A slow client slows the provider down instead of filling memory.

import { type Check, doubt, finding } from '../check.ts'
import { ref } from '../lookup.ts'
import { size } from '../words.ts'

/** Bytes that may still move between the two looks without the provider being read on. */
const STILL = 2 ** 20

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
    const taken: (number | null)[] = []
    for (let looks = 0; looks < 2; looks++) {
      await session.wait(2_000)
      const entry = await session.witness.seen(call.nonce, 1)
      taken.push(entry?.answer.bytes ?? null)
      session.note('complete', entry?.answer.complete ?? null)
    }
    session.note('taken', taken)
    call.leave()
    await call.done
  },
  judge({ evidence }) {
    const [first, second] = evidence.facts.taken as [number | null, number | null]
    const see = evidence.exchanges.map(ref)
    const what = `while the client read nothing, ${first === null ? 'an unknown number of bytes' : size(first)} had been taken from the provider after 2 s and ${second === null ? 'an unknown number' : size(second)} after 4 s${evidence.facts.complete === true ? ', which was all of them' : ''}`
    // What repeats itself is compressed to next to nothing, and fits into any buffer.
    if (evidence.exchanges.some(({ headers }) => headers['content-encoding'] !== undefined))
      return [doubt('provider-is-slowed', `${what}; the answer is compressed`, see)]
    const stands = first !== null && second !== null && second - first < STILL
    return [finding('provider-is-slowed', stands && evidence.facts.complete === false, what, see)]
  },
} satisfies Check
