// LOG-01: Each routed call has exactly one record, whether it succeeded, failed, was aborted, was a cache hit, or all
// its targets failed.

import { idsIn, itemsOf, ref } from '../dialects/lookup.ts'
import { scriptedFailure } from '../dialects/scripted.ts'
import { type Step, step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'
import { leaveStream, readLog } from './log.ts'

const steps = {
  call: step('call'),
  before: step('before'),
  after: step('after'),
}

/** Maximum number of reads until the log no longer changes. */
const MAX_READINGS = 5

/**
 * Reads the log until a wait of the declared lag adds no record, because a busy machine may write records
 * late.
 */
async function settledLog(session: CheckContext, step: Step): Promise<void> {
  for (let n = 0, known = ''; n < MAX_READINGS; n++) {
    await session.wait(session.target.observability.log!.lag_ms)
    const ids = idsIn(session.target, await readLog(session, step))
      .sort()
      .join()
    if (n > 0 && ids === known) return
    known = ids
  }
}

export const oneRecordPerCall = {
  id: 'LOG-01',
  needs: ['log'],
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    await settledLog(session, steps.before)
    await session.chat(steps.call)
    await session.chat(steps.call, { stream: true })
    await session.chat(steps.call, { script: [{ scenario: '400' }] })
    await session.chat(steps.call, { script: [scriptedFailure(500)] })
    await session.wait(session.target.capabilities.cooldown_ms)
    await leaveStream(session, steps.call)
    await settledLog(session, steps.after)
  },
  judge({ evidence, target }) {
    const [before, after] = [steps.before.in(evidence).at(-1)!, steps.after.in(evidence).at(-1)!]
    const calls = steps.call.in(evidence)
    if (!itemsOf(target, after))
      return [
        finding(
          'log-is-a-list',
          false,
          'the answer of the log',
          { expected: 'a list', actual: `${endText(after)}, without one` },
          [ref(after)],
        ),
      ]
    const known = new Set(idsIn(target, before))
    const added = idsIn(target, after).filter((id) => !known.has(id))
    return [
      finding(
        'one-record-per-call',
        added.length === calls.length,
        'records that were added by calls that were answered, streamed, refused by the provider, failed, left',
        { expected: String(calls.length), actual: String(added.length) },
        [...calls.map(ref), ref(after)],
      ),
      finding(
        'no-record-twice',
        new Set(added).size === added.length,
        'new ids in the list',
        { expected: 'each once', actual: `${added.length}, ${new Set(added).size} of them different` },
        [ref(after)],
      ),
    ]
  },
} satisfies Check
