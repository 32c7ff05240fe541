// LIFE-01: After SIGKILL under load, every inference is on record as exactly one attempt, and the database is
// intact. Open records become `interrupted`, and open attempts `unknown`.

import { where } from '../dialects/lookup.ts'
import { delta, END } from '../dialects/scripted.ts'
import { at, jsonOf, type AnyJson as Row } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { LOG, readAll, rowsIn } from './log/parts.ts'

const steps = {
  open: step('open'),
  busy: step('busy'),
  log: step('log'),
  record: step('record'),
}

export const killLosesNothing = {
  id: 'LIFE-01',
  needs: ['restart', 'process', 'attempts'],
  timeout: 90_000,
  async exercise(session) {
    const running = await session.another(null)
    for (let round = 0; round < 3; round++) {
      const gate = session.nonce()
      const held = [{ events: [delta('one'), { gate }, END] }]
      const open = await Promise.all(
        Array.from({ length: 6 }, () => session.openChat(steps.open, { stream: true, script: held })),
      )
      await Promise.all(open.map((call) => call.says('one')))
      const busy = await Promise.all(
        Array.from({ length: 20 }, (_, n) => session.openChat(steps.busy, { stream: n % 2 === 0 })),
      )
      await session.wait(5 + round * 10)
      await running.stop('killed')
      await Promise.all([...open, ...busy].map(({ done }) => done))
      await session.mock.release(gate)
      await running.start()
    }
    let cursor: unknown = null
    do {
      const page = await readAll(session, steps.log, `${LOG}?limit=200${cursor ? `&cursor=${cursor}` : ''}`)
      cursor = at(jsonOf(page.body), '/next_cursor')
      for (const { id } of rowsIn(page)) await readAll(session, steps.record, `${LOG}/${id}`)
    } while (cursor)
  },
  judge({ evidence }) {
    const records = steps.record.in(evidence).map(({ body }) => jsonOf(body) as Row)
    const attempts = records.flatMap(({ attempt_log }) => attempt_log as Row[])
    const inferences = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const count = (items: readonly { provider: string; model: string | null }[]) => {
      const counts = new Map<string, number>()
      for (const each of items) counts.set(where(each), (counts.get(where(each)) ?? 0) + 1)
      return counts
    }
    const [seen, written] = [count(inferences), count(attempts as { provider: string; model: string }[])]
    const lost = [...seen].filter(([target, n]) => (written.get(target) ?? 0) < n)
    const sure = attempts.filter(
      ({ outcome, status }) => !['not_sent', 'unknown'].includes(outcome) && status !== null,
    )
    const surplus = [...count(sure as { provider: string; model: string }[])].filter(
      ([target, n]) => (seen.get(target) ?? 0) < n,
    )
    const stillOpen = records.filter(({ state }) => state === 'routed' || state === 'streaming')
    const interrupted = records.filter(({ state }) => state === 'interrupted')
    const unknown = interrupted
      .flatMap(({ attempt_log }) => attempt_log as Row[])
      .filter(({ outcome }) => outcome === 'unknown')
    return [
      finding(
        'every-inference-is-on-record',
        inferences.length > 0 && lost.length === 0,
        `of ${inferences.length} inferences, those without an attempt on record`,
        { expected: 'none, of at least one', actual: listed(lost.map(([target]) => target)) },
      ),
      finding(
        'no-invented-answer',
        surplus.length === 0,
        'attempts on record that claim an answer which no provider gave',
        { expected: 'none', actual: listed(surplus.map(([target]) => target)) },
      ),
      finding('nothing-stays-open', stillOpen.length === 0, 'records that are still open after the start', {
        expected: 'none',
        actual: String(stillOpen.length),
      }),
      finding(
        'interrupted-and-unknown',
        interrupted.length > 0 && unknown.length >= interrupted.length,
        'calls that the kill interrupted',
        {
          expected: 'at least one, each with an attempt of unknown outcome',
          actual: `${interrupted.length} interrupted, ${unknown.length} attempts unknown`,
        },
      ),
    ]
  },
} satisfies Check
