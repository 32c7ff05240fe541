// LOG-01: Exactly one record per routed call: success, failure, abort, cache hit, all targets failed.
import { type Check, finding } from '../check.ts'
import { idsIn, itemsOf, labelled, ref } from '../lookup.ts'
import { failure } from '../scripted.ts'
import { leave, readLog } from './log.ts'

export const oneRecordPerCall = {
  id: 'LOG-01',
  needs: ['log'],
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    await session.wait(session.target.observability.log!.lag_ms)
    await readLog(session, 'before')
    await session.chat('call')
    await session.chat('call', { stream: true })
    await session.chat('call', { script: [{ scenario: '400' }] })
    await session.chat('call', { script: [failure(500)] })
    await session.wait(session.target.capabilities.cooldown_ms)
    await leave(session, 'call')
    await session.wait(session.target.observability.log!.lag_ms)
    await readLog(session, 'after')
  },
  judge({ evidence, target }) {
    const [before, after] = [labelled(evidence, 'before')[0]!, labelled(evidence, 'after')[0]!]
    const calls = labelled(evidence, 'call')
    if (!itemsOf(target, after))
      return [
        finding('log-is-a-list', false, `the log answered ${after.status} without a list`, [ref(after)]),
      ]
    const known = new Set(idsIn(target, before))
    const added = idsIn(target, after).filter((id) => !known.has(id))
    return [
      finding(
        'one-record-per-call',
        added.length === calls.length,
        `${calls.length} calls (answered, streamed, refused by the provider, failed, left) added ${added.length} records`,
        [...calls.map(ref), ref(after)],
      ),
      finding('no-record-twice', new Set(added).size === added.length, 'no record stands in the list twice', [
        ref(after),
      ]),
    ]
  },
} satisfies Check
