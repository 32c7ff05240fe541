// LIFE-07: A configuration change takes effect without dropping streams. An invalid change has no effect and is
// reported.

import { refs, servedBy } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { delta, END } from '../dialects/scripted.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { type Step, step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { readAll } from './log/parts.ts'

const steps = {
  changed: step('changed'),
  open: step('open'),
  newRoute: step('new route'),
  oldStill: step('old still'),
  readyz: step('readyz'),
}

/** Maximum number of reads that wait for a change. */
const MAX_LOOKS = 30

export const reload = {
  id: 'LIFE-07',
  needs: ['files'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    const { read, write } = running.files!
    const original = await read('waybill.yaml')
    if (original === null) return session.untestable('the target has no waybill.yaml')
    const gate = session.nonce()
    // Sends one word for each read, so that a silent stream never causes a provider time-out.
    const words = Array.from({ length: 2 * MAX_LOOKS }, (_, n) => [{ gate: `${gate}-${n}` }, delta('.')])
    const script = [{ events: [delta('one'), ...words.flat(), delta('two'), END] }]
    const call = await session.openChat(steps.open, { stream: true, script, timeout: 60_000 })
    let looks = 0
    const look = async (each: Step, path: string): Promise<Exchange> => {
      await session.wait(200)
      await session.mock.release(`${gate}-${looks++}`)
      return readAll(session, each, path)
    }
    await call.says('one')

    const settle = async (text: string, until: (exchange: Exchange) => boolean) => {
      await write({ 'waybill.yaml': text })
      for (let tries = 0; tries < MAX_LOOKS; tries++)
        if (until(await look(steps.changed, '/v1/models'))) return
    }
    await settle(
      `${original}\n`.replace(
        'auto/single:',
        'auto/other: { targets: [ { model: openai/gpt-5-mini } ] }\n  auto/single:',
      ),
      ({ body }) => body.includes('auto/other'),
    )
    await session.chat(steps.newRoute, { model: 'auto/other' })
    await write({ 'waybill.yaml': 'routes: { broken: [' })
    for (let tries = 0; tries < MAX_LOOKS; tries++)
      if (/"rejected"/.test((await look(steps.readyz, '/readyz')).body)) break
    await session.chat(steps.oldStill, { model: 'auto/other' })
    while (looks < 2 * MAX_LOOKS) await session.mock.release(`${gate}-${looks++}`)
    await call.done
  },
  judge({ evidence }) {
    const [open, fresh, old, ready] = [steps.open, steps.newRoute, steps.oldStill, steps.readyz].map((step) =>
      step.in(evidence).at(-1),
    )
    return [
      finding(
        'added-route-serves',
        fresh!.status === 200 && servedBy(evidence, fresh!) !== null,
        'a call of the route that was added',
        { expected: '200, from a provider', actual: endText(fresh!) },
        refs(fresh),
      ),
      finding(
        'invalid-changes-nothing',
        old!.status === 200,
        'a call after an invalid file',
        { expected: '200, by the old configuration', actual: endText(old!) },
        refs(old),
      ),
      finding(
        'invalid-is-reported',
        at(jsonOf(ready!.body), '/configuration/state') === 'rejected',
        'what /readyz says of the invalid file',
        {
          expected: 'configuration.state rejected',
          actual: `${endText(ready!)}: ${ready!.body.slice(0, 160)}`,
        },
        refs(ready),
      ),
      finding(
        'open-stream-ends-well',
        open!.end === 'complete' && /^one\.+two$/.test(readAnswer(open!).content),
        'the stream that was open meanwhile',
        {
          expected: 'complete, from "one" to "two"',
          actual: `${open!.end}, with ${JSON.stringify(readAnswer(open!).content)}`,
        },
        refs(open),
      ),
    ]
  },
} satisfies Check
