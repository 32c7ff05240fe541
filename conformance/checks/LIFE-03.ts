// LIFE-03: Rows, artifacts and bytes on disk (database, WAL, artifacts) stay under their limits, without dangling
// references or orphans.

import { ref, refs } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { size } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { LOG, readAll, rowsIn } from './log/parts.ts'

const steps = {
  call: step('call'),
  look: step('look'),
  log: step('log'),
  record: step('record'),
  artifact: step('artifact'),
  sessions: step('sessions'),
}

export const capsHold = {
  id: 'LIFE-03',
  needs: ['variant:small'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another('small')
    for (let done = 0; done < 400; done += 20)
      await Promise.all(
        Array.from({ length: 20 }, () => session.chat(steps.call, { prompt: 'x'.repeat(500) })),
      )
    for (let tries = 0; tries < 40; tries++) {
      await session.wait(250)
      const page = await readAll(session, steps.look, `${LOG}?limit=200`)
      if (rowsIn(page).length <= 100) break
    }
    const log = await readAll(session, steps.log, `${LOG}?limit=200`)
    for (const { id } of rowsIn(log).slice(0, 40)) {
      await readAll(session, steps.record, `${LOG}/${id}`)
      await readAll(session, steps.artifact, `${LOG}/${id}/artifact`)
    }
    await readAll(session, steps.sessions, '/api/usage/history?window=24h')
    const kept = [...(await running.files!.list())].filter(([name]) => name.startsWith('data/'))
    session.note(
      'bytes',
      kept.reduce((sum, [, { bytes }]) => sum + bytes, 0),
    )
  },
  judge({ evidence }) {
    const [log] = steps.log.in(evidence)
    const rows = rowsIn(log)
    const artifacts = steps.artifact.in(evidence)
    const dangling = steps.record
      .in(evidence)
      .filter(
        (exchange, index) =>
          (at(jsonOf(exchange.body), '/artifact/available') === true) !== (artifacts[index]!.status === 200),
      )
    const totals = at(jsonOf(steps.sessions.in(evidence)[0]!.body), '/totals/calls')
    return [
      finding(
        'records-under-cap',
        steps.call.in(evidence).length === 400 && rows.length > 0 && rows.length <= 100,
        'records that are kept of 400 calls',
        { expected: '1 to 100', actual: `${rows.length} of ${steps.call.in(evidence).length}` },
        refs(log),
      ),
      finding('bytes-under-cap', (evidence.facts.bytes as number) <= 4 * 2 ** 20, 'space on disk', {
        expected: `at most ${size(4 * 2 ** 20)}`,
        actual: size(evidence.facts.bytes as number),
      }),
      finding(
        'no-contradiction',
        dangling.length === 0,
        'records that disagree with their artifact',
        { expected: 'none', actual: String(dangling.length) },
        dangling.map(ref),
      ),
      finding(
        'artifacts-under-cap',
        artifacts.filter(({ status }) => status === 200).length <= 20,
        'artifacts that are kept',
        { expected: 'at most 20', actual: String(artifacts.filter(({ status }) => status === 200).length) },
      ),
      finding('sums-cover-the-log', totals === rows.length, 'calls in the sums', {
        expected: `${rows.length}, as in the log`,
        actual: String(totals),
      }),
    ]
  },
} satisfies Check
