// LOG-08: A session id survives a restart, and the log can be filtered by it.

import { refs } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { acceptedCalls, onRecord } from './log.ts'
import { LOG, readAll, rowsIn } from './request-log.ts'

const steps = {
  call: step('call'),
  other: step('other'),
  before: step('before'),
  after: step('after'),
  session: step('session'),
}

export const sessionSurvives = {
  id: 'LOG-08',
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    const id = `session-${session.nonce()}`
    for (let n = 0; n < 3; n++)
      await onRecord(session, steps.call, { headers: { 'x-gateway-session-id': id } })
    await onRecord(session, steps.other, { headers: { 'x-gateway-session-id': `${id}-other` } })
    await session.wait(300)
    await readAll(session, steps.before, `${LOG}?session_id=${id}`)
    await running.stop()
    await running.start()
    await readAll(session, steps.after, `${LOG}?session_id=${id}`)
    await readAll(session, steps.session, `/api/sessions/${id}`)
  },
  judge({ evidence }) {
    const [before, after, session] = [steps.before, steps.after, steps.session].map(
      (step) => step.in(evidence)[0]!,
    )
    const ids = (exchange: Exchange) => rowsIn(exchange).map(({ id }) => id)
    const calls = acceptedCalls(steps.call.in(evidence)).map(({ headers }) => headers['x-gateway-request-id'])
    return [
      finding(
        'filter-finds-the-calls',
        ids(before!).length === 3 && calls.every((id) => ids(before!).includes(id)),
        'calls that the filter finds',
        { expected: 'the 3 of the session', actual: `${endText(before!)}, and ${ids(before!).length}` },
        refs(before),
      ),
      finding(
        'same-after-a-restart',
        ids(after!).join() === ids(before!).join(),
        'calls that it finds after a restart',
        {
          expected: 'the same',
          actual: `${ids(after!).length}, ${ids(after!).join() === ids(before!).join() ? 'the same' : 'others'}`,
        },
        refs(after),
      ),
      finding(
        'session-counts-the-calls',
        at(jsonOf(session!.body), '/calls') === 3,
        'calls of the session',
        { expected: '3', actual: String(at(jsonOf(session!.body), '/calls')) },
        refs(session),
      ),
    ]
  },
} satisfies Check
