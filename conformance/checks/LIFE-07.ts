// LIFE-07: A configuration change is taken up without dropping streams; an invalid one changes nothing and is
// reported.
import { type Check, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import { labelled, refs, servedBy } from '../lookup.ts'
import { at, jsonOf, readChat } from '../reading.ts'
import { readAll } from '../request-log.ts'
import { DONE, delta } from '../scripted.ts'

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
    const script = [{ events: [delta('one'), { gate }, delta('two'), DONE] }]
    const call = await session.openChat('open', { stream: true, script })
    await call.until((body) => body.includes('one'), 5_000)

    const settle = async (label: string, text: string, until: (exchange: Exchange) => boolean) => {
      await write({ 'waybill.yaml': text })
      for (let tries = 0; tries < 30; tries++) {
        await session.wait(200)
        if (until(await readAll(session, label, '/v1/models'))) return
      }
    }
    await settle(
      'changed',
      `${original}\n`.replace(
        'auto/single:',
        'auto/other: { targets: [ { model: openai/gpt-5-mini } ] }\n  auto/single:',
      ),
      ({ body }) => body.includes('auto/other'),
    )
    await session.chat('new route', { model: 'auto/other' })
    await write({ 'waybill.yaml': 'routes: { broken: [' })
    for (let tries = 0; tries < 30; tries++) {
      await session.wait(200)
      if (/"rejected"/.test((await readAll(session, 'readyz', '/readyz')).body)) break
    }
    await session.chat('old still', { model: 'auto/other' })
    await session.witness.release(gate)
    await call.done
  },
  judge({ evidence }) {
    const [open, fresh, old, ready] = ['open', 'new route', 'old still', 'readyz'].map((label) =>
      labelled(evidence, label).at(-1),
    )
    return [
      finding(
        'added-route-serves',
        fresh!.status === 200 && servedBy(evidence, fresh!) !== null,
        `a route that was added: ${fresh!.status}`,
        refs(fresh),
      ),
      finding(
        'invalid-changes-nothing',
        old!.status === 200,
        `after an invalid file the old configuration serves: ${old!.status}`,
        refs(old),
      ),
      finding(
        'invalid-is-reported',
        at(jsonOf(ready!.body), '/configuration/state') === 'rejected',
        `/readyz says ${ready!.status}: ${ready!.body.slice(0, 160)}`,
        refs(ready),
      ),
      finding(
        'open-stream-ends-well',
        open!.end === 'complete' && readChat(open!.body).content === 'onetwo',
        `the stream that was open meanwhile ended ${open!.end}`,
        refs(open),
      ),
    ]
  },
} satisfies Check
