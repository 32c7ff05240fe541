// FLOW-10: A slow client slows the provider down instead of filling the gateway's memory.

import { ref, servedBy } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { size } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'

const steps = {
  slow: step('slow'),
}

/** Bytes that may still move between two measurements after the gateway has stopped reading. */
const MAX_STILL_BYTES = 2 ** 20
/** Maximum time until the first byte arrives, ms. By then, the mock has written the whole flood. */
const MAX_FIRST_BYTE_MS = 12_000
/** Time until the first measurement and between two measurements, ms, and the maximum number of measurements. */
const FIRST_LOOK_MS = 500
const LOOK_INTERVAL_MS = 2_000
const MAX_LOOKS = 12

function standsStill(taken: readonly (number | null)[]): boolean {
  const [first, second] = taken.slice(-2)
  return first != null && second != null && second - first < MAX_STILL_BYTES
}

export const slowClientSlowsUpstream = {
  id: 'FLOW-10',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const call = await session.openChat(steps.slow, {
      stream: true,
      script: [{ scenario: 'flood' }],
      timeout: 45_000,
    })
    // Pauses in the callback of the first byte: one turn of the event loop later, a busy machine may have
    // read too much.
    await call.until((body) => {
      if (body !== '') call.pause()
      return body !== ''
    }, MAX_FIRST_BYTE_MS)
    call.pause()
    const taken: (number | null)[] = []
    // Buffers on the way fill up first. On a busy machine, they fill slowly.
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      await session.wait(looks === 0 ? FIRST_LOOK_MS : LOOK_INTERVAL_MS)
      const entry = servedBy(await session.soFar(), call)
      taken.push(entry?.answer.bytes ?? null)
      session.note('complete', entry?.answer.complete ?? null)
      if (looks > 0 && (entry?.answer.complete || standsStill(taken))) break
    }
    session.note('taken', taken)
    call.leave()
    await call.done
  },
  judge({ evidence }) {
    const taken = evidence.facts.taken as (number | null)[]
    const [first, second] = taken.slice(-2) as [number | null, number | null]
    const seconds = (looks: number) => (looks * LOOK_INTERVAL_MS) / 1_000
    const see = evidence.exchanges.map(ref)
    const what = 'what was taken from the provider while the client read nothing'
    const actual = `${first === null ? 'an unknown number of bytes' : size(first)} after ${seconds(taken.length - 1)} s and ${second === null ? 'an unknown number' : size(second)} after ${seconds(taken.length)} s${evidence.facts.complete === true ? ', which was all of it' : ''}`
    // Repetitive data compresses to almost nothing and fits into any buffer.
    if (evidence.exchanges.some(({ headers }) => !/^(identity)?$/i.test(headers['content-encoding'] ?? '')))
      return [doubt('provider-is-slowed', `${what}: ${actual}; the answer is compressed`, see)]
    return [
      finding(
        'provider-is-slowed',
        standsStill(taken) && evidence.facts.complete === false,
        what,
        { expected: `less than ${size(MAX_STILL_BYTES)} between two looks`, actual },
        see,
      ),
    ]
  },
} satisfies Check
