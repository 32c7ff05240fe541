// LOG-08: A session id survives a restart and filters the log.
import { type Check, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import { labelled, refs } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { LOG, readAll, rowsIn } from '../request-log.ts'

export const sessionSurvives = {
  id: 'LOG-08',
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    const id = `session-${session.nonce()}`
    for (let n = 0; n < 3; n++) await session.chat('call', { headers: { 'x-gateway-session-id': id } })
    await session.chat('other', { headers: { 'x-gateway-session-id': `${id}-other` } })
    await session.wait(300)
    await readAll(session, 'before', `${LOG}?session_id=${id}`)
    await running.stop()
    await running.start()
    await readAll(session, 'after', `${LOG}?session_id=${id}`)
    await readAll(session, 'session', `/api/sessions/${id}`)
  },
  judge({ evidence }) {
    const [before, after, session] = ['before', 'after', 'session'].map(
      (label) => labelled(evidence, label)[0]!,
    )
    const ids = (exchange: Exchange) => rowsIn(exchange).map(({ id }) => id)
    const calls = labelled(evidence, 'call').map(({ headers }) => headers['x-gateway-request-id'])
    return [
      finding(
        'filter-finds-the-calls',
        ids(before!).length === 3 && calls.every((id) => ids(before!).includes(id)),
        `the filter finds ${ids(before!).length} of 3 calls`,
        refs(before),
      ),
      finding(
        'same-after-a-restart',
        ids(after!).join() === ids(before!).join(),
        `after a restart it finds ${ids(after!).length}`,
        refs(after),
      ),
      finding(
        'session-counts-the-calls',
        at(jsonOf(session!.body), '/calls') === 3,
        `the session has ${at(jsonOf(session!.body), '/calls')} calls`,
        refs(session),
      ),
    ]
  },
} satisfies Check
