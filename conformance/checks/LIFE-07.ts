// LIFE-07: A configuration change is taken up without dropping streams; an invalid one changes nothing and is
// reported.
import { type Check, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import { refs, servedBy } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { readAll } from '../request-log.ts'
import { delta, END } from '../scripted.ts'
import { step } from '../step.ts'
import { readAnswer } from '../surfaces.ts'
import { ended } from '../words.ts'

const steps = {
  changed: step('changed'),
  open: step('open'),
  newRoute: step('new route'),
  oldStill: step('old still'),
  readyz: step('readyz'),
}

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
    const script = [{ events: [delta('one'), { gate }, delta('two'), END] }]
    const call = await session.openChat(steps.open, { stream: true, script })
    await call.until((body) => body.includes('one'), 5_000)

    const settle = async (text: string, until: (exchange: Exchange) => boolean) => {
      await write({ 'waybill.yaml': text })
      for (let tries = 0; tries < 30; tries++) {
        await session.wait(200)
        if (until(await readAll(session, steps.changed, '/v1/models'))) return
      }
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
    for (let tries = 0; tries < 30; tries++) {
      await session.wait(200)
      if (/"rejected"/.test((await readAll(session, steps.readyz, '/readyz')).body)) break
    }
    await session.chat(steps.oldStill, { model: 'auto/other' })
    await session.witness.release(gate)
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
        { expected: '200, from a provider', actual: ended(fresh!) },
        refs(fresh),
      ),
      finding(
        'invalid-changes-nothing',
        old!.status === 200,
        'a call after an invalid file',
        { expected: '200, by the old configuration', actual: ended(old!) },
        refs(old),
      ),
      finding(
        'invalid-is-reported',
        at(jsonOf(ready!.body), '/configuration/state') === 'rejected',
        'what /readyz says of the invalid file',
        {
          expected: 'configuration.state rejected',
          actual: `${ended(ready!)}: ${ready!.body.slice(0, 160)}`,
        },
        refs(ready),
      ),
      finding(
        'open-stream-ends-well',
        open!.end === 'complete' && readAnswer(open!).content === 'onetwo',
        'the stream that was open meanwhile',
        {
          expected: 'complete, with "onetwo"',
          actual: `${open!.end}, with ${JSON.stringify(readAnswer(open!).content)}`,
        },
        refs(open),
      ),
    ]
  },
} satisfies Check
