// LIFE-03: Rows, artifacts and bytes on disk (database, WAL, artifacts) stay under their caps; no dangling
// reference, no orphan.

import { type Check, finding } from '../check.ts'
import { labelled, ref, refs } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { LOG, readAll, rowsIn } from '../request-log.ts'
import { size } from '../words.ts'

export const capsHold = {
  id: 'LIFE-03',
  needs: ['variant:small'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another('small')
    for (let done = 0; done < 400; done += 20)
      await Promise.all(Array.from({ length: 20 }, () => session.chat('call', { prompt: 'x'.repeat(500) })))
    for (let tries = 0; tries < 40; tries++) {
      await session.wait(250)
      const page = await readAll(session, 'look', `${LOG}?limit=200`)
      if (rowsIn(page).length <= 100) break
    }
    const log = await readAll(session, 'log', `${LOG}?limit=200`)
    for (const { id } of rowsIn(log).slice(0, 40)) {
      await readAll(session, 'record', `${LOG}/${id}`)
      await readAll(session, 'artifact', `${LOG}/${id}/artifact`)
    }
    await readAll(session, 'sessions', '/api/usage/history?window=24h')
    const kept = [...(await running.files!.list())].filter(([name]) => name.startsWith('data/'))
    session.note(
      'bytes',
      kept.reduce((sum, [, { bytes }]) => sum + bytes, 0),
    )
  },
  judge({ evidence }) {
    const [log] = labelled(evidence, 'log')
    const rows = rowsIn(log)
    const artifacts = labelled(evidence, 'artifact')
    const dangling = labelled(evidence, 'record').filter(
      (exchange, index) =>
        (at(jsonOf(exchange.body), '/artifact/available') === true) !== (artifacts[index]!.status === 200),
    )
    const totals = at(jsonOf(labelled(evidence, 'sessions')[0]!.body), '/totals/calls')
    return [
      finding(
        'records-under-cap',
        labelled(evidence, 'call').length === 400 && rows.length > 0 && rows.length <= 100,
        `of 400 calls ${rows.length} records are kept, cap 100`,
        refs(log),
      ),
      finding('bytes-under-cap', (evidence.facts.bytes as number) <= 4 * 2 ** 20, 'space on disk', [], {
        expected: `at most ${size(4 * 2 ** 20)}`,
        actual: size(evidence.facts.bytes as number),
      }),
      finding(
        'no-contradiction',
        dangling.length === 0,
        `${dangling.length} records and artifacts contradict each other`,
        dangling.map(ref),
      ),
      finding(
        'artifacts-under-cap',
        artifacts.filter(({ status }) => status === 200).length <= 20,
        `${artifacts.filter(({ status }) => status === 200).length} artifacts, cap 20`,
      ),
      finding(
        'sums-cover-the-log',
        totals === rows.length,
        `sums cover ${totals} calls, the log ${rows.length}`,
      ),
    ]
  },
} satisfies Check
