// LIFE-02: SIGTERM lets open streams end within the grace time and loses nothing.
import { type Check, finding } from '../check.ts'
import { labelled, refs } from '../lookup.ts'
import { at, jsonOf, readChat } from '../reading.ts'
import { DONE, delta } from '../scripted.ts'

export const termDrains = {
  id: 'LIFE-02',
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    const gate = session.nonce()
    const script = [{ events: [delta('one'), { gate }, delta('two'), DONE] }]
    const call = await session.openChat('open', { stream: true, script })
    await call.until((body) => body.includes('one'), 5_000)
    const stopped = running.stop('politely')
    // A busy machine tells it late.
    for (let tries = 0; tries < 20; tries++) {
      await session.wait(250)
      if ((await session.chat('new', { timeout: 3_000 })).status !== 200) break
    }
    await session.witness.release(gate)
    const exchange = await call.done
    session.mark('stream_end')
    await stopped
    session.mark('stopped')
    await running.start()
    await session.record('record', exchange)
  },
  judge({ evidence }) {
    const [open, fresh, record] = ['open', 'new', 'record'].map((label) => labelled(evidence, label).at(-1))
    const whole =
      open!.end === 'complete' && readChat(open!.body).content === 'onetwo' && readChat(open!.body).done === 1
    return [
      finding(
        'open-stream-ends-well',
        whole,
        `the open stream ended ${open!.end} with ${JSON.stringify(readChat(open!.body).content)}`,
        refs(open),
      ),
      finding(
        'new-calls-are-refused',
        fresh!.status !== 200,
        `a new call meanwhile: ${fresh!.status ?? fresh!.error}`,
        refs(fresh),
      ),
      finding(
        'record-is-completed',
        at(jsonOf(record?.body ?? ''), '/state') === 'completed',
        `its record says ${at(jsonOf(record?.body ?? ''), '/state')}`,
        refs(record),
      ),
      finding(
        'ends-in-time',
        evidence.marks.stopped! - evidence.marks.stream_end! < 5_000,
        `it ended ${Math.round(evidence.marks.stopped! - evidence.marks.stream_end!)} ms after its last stream`,
      ),
    ]
  },
} satisfies Check
