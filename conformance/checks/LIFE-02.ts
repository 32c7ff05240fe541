// LIFE-02: After SIGTERM, open streams can end within the grace time, and nothing is lost.

import { refs } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { delta, END } from '../dialects/scripted.ts'
import type { Evidence } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { recordExchange, step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  open: step('open'),
  new: step('new'),
}

/**
 * Maximum time from the end of the last stream to the exit of a gateway that exits as soon as it is idle, ms.
 */
const MAX_STOP_MS = 5_000

/** Returns the time between two marks, ms; 0 if the evidence has no such marks. */
const between = ({ marks }: Pick<Evidence, 'marks'>, from: string, to: string): number =>
  Math.round((marks[to] ?? 0) - (marks[from] ?? 0))

export const termDrains = {
  id: 'LIFE-02',
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    // Measures a stop without streams, because even that may take seconds with this gateway on this machine.
    session.mark('idle_stop')
    await running.stop('politely')
    session.mark('idle_stopped')
    await running.start()
    const gate = session.nonce()
    const script = [{ events: [delta('one'), { gate }, delta('two'), END] }]
    const call = await session.openChat(steps.open, { stream: true, script })
    await call.says('one')
    const stopped = running.stop('politely')
    // A busy machine may report the change late.
    for (let tries = 0; tries < 20; tries++) {
      await session.wait(250)
      if ((await session.chat(steps.new, { timeout: 3_000 })).status !== 200) break
    }
    await session.mock.release(gate)
    const exchange = await call.done
    session.mark('stream_end')
    await stopped
    session.mark('stopped')
    await running.start()
    await session.record(exchange)
  },
  judge({ evidence }) {
    const open = steps.open.in(evidence).at(-1)!
    const fresh = steps.new.in(evidence).at(-1)!
    const record = recordExchange(evidence, open)
    const state = at(jsonOf(record?.body ?? ''), '/state')
    const { content, done } = readAnswer(open)
    const took = between(evidence, 'stream_end', 'stopped')
    const limit = MAX_STOP_MS + 2 * between(evidence, 'idle_stop', 'idle_stopped')
    return [
      finding(
        'open-stream-ends-well',
        open.end === 'complete' && content === 'onetwo' && done === 1,
        'the stream that was open',
        {
          expected: 'complete, with "onetwo" and [DONE]',
          actual: `${open.end}, with ${JSON.stringify(content)} and ${done} [DONE]`,
        },
        refs(open),
      ),
      finding(
        'new-calls-are-refused',
        fresh.status !== 200,
        'a new call meanwhile',
        { expected: 'refused', actual: endText(fresh) },
        refs(fresh),
      ),
      finding(
        'record-is-completed',
        state === 'completed',
        'the state on record of that stream',
        { expected: 'completed', actual: String(state) },
        refs(record),
      ),
      finding('ends-in-time', took < limit, 'the end after the last stream', {
        expected: `within ${limit} ms, which is ${MAX_STOP_MS} ms more than twice what it needs without a stream`,
        actual: `${took} ms`,
      }),
    ]
  },
} satisfies Check
