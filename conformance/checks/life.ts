// Checks of the life of a process: kill, stop, caps, a second process, and new settings.

import { delta, END } from '../dialects/dialect.ts'
import { readAnswer, ref, refs, servedBy, where } from '../dialects/lookup.ts'
import {
  type Evidence,
  type Exchange,
  endText,
  listed,
  recordExchange,
  type Step,
  size,
  step,
} from '../evidence/evidence.ts'
import { at, jsonOf, type AnyJson as Row } from '../evidence/reading.ts'
import { family } from './check.ts'
import { LOG, readAll, rowsIn } from './log/parts.ts'

const check = family()

const killed = { open: step('open'), busy: step('busy'), log: step('log'), record: step('record') }

check('LIFE-01', {
  needs: ['restart', 'process', 'attempts'],
  timeout: 90_000,
  async exercise(session) {
    const running = await session.another(null)
    for (let round = 0; round < 3; round++) {
      const gate = session.nonce()
      const held = [{ events: [delta('one'), { gate }, END] }]
      const open = await Promise.all(
        Array.from({ length: 6 }, () => session.openChat(killed.open, { stream: true, script: held })),
      )
      await Promise.all(open.map((call) => call.says('one')))
      const busy = await Promise.all(
        Array.from({ length: 20 }, (_, n) => session.openChat(killed.busy, { stream: n % 2 === 0 })),
      )
      await session.wait(5 + round * 10)
      await running.stop('killed')
      await Promise.all([...open, ...busy].map(({ done }) => done))
      await session.mock.release(gate)
      await running.start()
    }
    let cursor: unknown = null
    do {
      const page = await readAll(session, killed.log, `${LOG}?limit=200${cursor ? `&cursor=${cursor}` : ''}`)
      cursor = at(jsonOf(page.body), '/next_cursor')
      for (const { id } of rowsIn(page)) await readAll(session, killed.record, `${LOG}/${id}`)
    } while (cursor)
  },
  judge({ evidence }) {
    const records = killed.record.in(evidence).map(({ body }) => jsonOf(body) as Row)
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
    return {
      'every-inference-is-on-record': [
        inferences.length > 0 && lost.length === 0,
        `of ${inferences.length} inferences before a kill, those without an attempt on record after the restart`,
        inferences.length > 0 ? 'none' : 'at least one inference',
        listed(lost.map(([target, n]) => `${target}: ${n} sent, ${written.get(target) ?? 0} on record`)),
      ],
      'no-invented-answer': [
        surplus.length === 0,
        'attempts on record after a kill and a restart that claim an answer which no provider gave',
        'none',
        listed(surplus.map(([target]) => target)),
      ],
      'nothing-stays-open': [
        stillOpen.length === 0,
        'calls whose state on record is still routed or streaming after a kill and a restart',
        'none',
        String(stillOpen.length),
      ],
      'interrupted-and-unknown': [
        interrupted.length > 0 && unknown.length >= interrupted.length,
        'calls on record as interrupted after a kill and a restart',
        'at least one, each with an attempt of unknown outcome',
        `${interrupted.length} interrupted, ${unknown.length} attempts unknown`,
      ],
    }
  },
})

const draining = { open: step('open'), new: step('new') }

/**
 * Maximum time from the end of the last stream to the exit of a gateway that exits as soon as it is idle, ms.
 */
const MAX_STOP_MS = 5_000

/** Returns the time between two marks, ms; 0 if the evidence has no such marks. */
const between = ({ marks }: Pick<Evidence, 'marks'>, from: string, to: string): number =>
  Math.round((marks[to] ?? 0) - (marks[from] ?? 0))

check('LIFE-02', {
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
    const call = await session.openChat(draining.open, { stream: true, script })
    await call.says('one')
    const stopped = running.stop('politely')
    // A busy machine may report the change late.
    for (let tries = 0; tries < 20; tries++) {
      await session.wait(250)
      if ((await session.chat(draining.new, { timeout: 3_000 })).status !== 200) break
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
    const open = draining.open.in(evidence).at(-1)!
    const fresh = draining.new.in(evidence).at(-1)!
    const record = recordExchange(evidence, open)
    const state = at(jsonOf(record?.body ?? ''), '/state')
    const { content, done } = readAnswer(open)
    const took = between(evidence, 'stream_end', 'stopped')
    const limit = MAX_STOP_MS + 2 * between(evidence, 'idle_stop', 'idle_stopped')
    return {
      'open-stream-ends-well': [
        open.end === 'complete' && content === 'onetwo' && done === 1,
        'the stream that was open when the gateway was told to stop',
        'complete, with "onetwo" and [DONE]',
        `${open.end}, with ${JSON.stringify(content)} and ${done} [DONE]`,
        refs(open),
      ],
      'new-calls-are-refused': [
        fresh.status !== 200,
        'a new call after the gateway was told to stop',
        'refused',
        endText(fresh),
        refs(fresh),
      ],
      'record-is-completed': [
        state === 'completed',
        'the state on record of the stream that was open when the gateway was told to stop',
        'completed',
        String(state),
        refs(record),
      ],
      'ends-in-time': [
        took < limit,
        'the end after the last stream',
        `within ${limit} ms, which is ${MAX_STOP_MS} ms more than twice what it needs without a stream`,
        `${took} ms`,
      ],
    }
  },
})

/** Time to wait for artifacts, ms: those of the newest calls are written within five seconds, beside those that are kept. */
const ARTIFACTS_WAIT_MS = 6_000

const capped = {
  call: step('call'),
  look: step('look'),
  log: step('log'),
  record: step('record'),
  artifact: step('artifact'),
  again: step('again'),
  sessions: step('sessions'),
}

check('LIFE-03', {
  needs: ['variant:small'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another('small')
    for (let done = 0; done < 400; done += 20)
      await Promise.all(
        Array.from({ length: 20 }, () => session.chat(capped.call, { prompt: 'x'.repeat(500) })),
      )
    // A gateway deletes in steps, records and artifacts apart: once artifacts are written, until two looks see the same.
    await session.wait(ARTIFACTS_WAIT_MS)
    let before = ''
    for (let tries = 0; tries < 40; tries++) {
      await session.wait(250)
      const rows = rowsIn(await readAll(session, capped.look, `${LOG}?limit=200`))
      const seen = JSON.stringify(rows)
      if (rows.length <= 100 && seen === before) break
      before = seen
    }
    const log = await readAll(session, capped.log, `${LOG}?limit=200`)
    for (const { id } of rowsIn(log).slice(0, 40)) {
      await readAll(session, capped.record, `${LOG}/${id}`)
      await readAll(session, capped.artifact, `${LOG}/${id}/artifact`)
      await readAll(session, capped.again, `${LOG}/${id}`) // it may be deleted between two reads
    }
    await readAll(session, capped.sessions, '/api/usage/history?window=24h')
    const kept = [...(await running.files!.list())].filter(([name]) => name.startsWith('data/'))
    session.note(
      'bytes',
      kept.reduce((sum, [, { bytes }]) => sum + bytes, 0),
    )
  },
  judge({ evidence }) {
    const [log] = capped.log.in(evidence)
    const rows = rowsIn(log)
    const artifacts = capped.artifact.in(evidence)
    const again = capped.again.in(evidence)
    const isAvailable = ({ body }: (typeof again)[number]) => at(jsonOf(body), '/artifact/available') === true
    const dangling = capped.record.in(evidence).filter((exchange, index) => {
      const isThere = artifacts[index]!.status === 200
      return isAvailable(exchange) !== isThere && isAvailable(again[index]!) !== isThere
    })
    const totals = at(jsonOf(capped.sessions.in(evidence)[0]!.body), '/totals/calls')
    return {
      'records-under-cap': [
        capped.call.in(evidence).length === 400 && rows.length > 0 && rows.length <= 100,
        'records that are kept of 400 calls',
        '1 to 100',
        `${rows.length} of ${capped.call.in(evidence).length}`,
        refs(log),
      ],
      'bytes-under-cap': [
        (evidence.facts.bytes as number) <= 4 * 2 ** 20,
        'space on disk',
        `at most ${size(4 * 2 ** 20)}`,
        size(evidence.facts.bytes as number),
      ],
      'no-contradiction': [
        dangling.length === 0,
        'records that disagree with their artifact',
        'none',
        String(dangling.length),
        dangling.map(ref),
      ],
      'artifacts-under-cap': [
        artifacts.filter(({ status }) => status === 200).length <= 20,
        'artifacts that are kept',
        'at most 20',
        String(artifacts.filter(({ status }) => status === 200).length),
      ],
      'sums-cover-the-log': [
        totals === rows.length,
        'calls in the sums',
        `${rows.length}, as in the log`,
        String(totals),
      ],
    }
  },
})

const afterwards = step('afterwards')

check('LIFE-05', {
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    session.note('said', await running.second({ WAYBILL_PORT: '0' }))
    await session.chat(afterwards)
  },
  judge({ evidence }) {
    const said = evidence.facts.said as string | null
    const lines = (said ?? '')
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{') || /in use/.test(line))
    const [after] = afterwards.in(evidence)
    return {
      'refused-in-one-line': [
        said !== null && /in use/.test(said) && lines.length === 1 && !/\n\s+at /.test(said),
        'what a second process said',
        'one line that says what is in use',
        said?.trim() ?? 'nothing, it came up',
      ],
      'first-goes-on': [
        after!.status === 200,
        'a call to the first one',
        '200',
        endText(after!),
        refs(after),
      ],
    }
  },
})

const reloaded = {
  changed: step('changed'),
  open: step('open'),
  newRoute: step('new route'),
  oldStill: step('old still'),
  readyz: step('readyz'),
}

/** Maximum number of reads that wait for a change. */
const MAX_LOOKS = 30

check('LIFE-07', {
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
    const call = await session.openChat(reloaded.open, { stream: true, script, timeout: 60_000 })
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
        if (until(await look(reloaded.changed, '/v1/models'))) return
    }
    await settle(
      `${original}\n`.replace(
        'auto/single:',
        'auto/other: { targets: [ { model: openai/gpt-5-mini } ] }\n  auto/single:',
      ),
      ({ body }) => body.includes('auto/other'),
    )
    await session.chat(reloaded.newRoute, { model: 'auto/other' })
    await write({ 'waybill.yaml': 'routes: { broken: [' })
    for (let tries = 0; tries < MAX_LOOKS; tries++)
      if (/"rejected"/.test((await look(reloaded.readyz, '/readyz')).body)) break
    await session.chat(reloaded.oldStill, { model: 'auto/other' })
    while (looks < 2 * MAX_LOOKS) await session.mock.release(`${gate}-${looks++}`)
    await call.done
  },
  judge({ evidence }) {
    const [open, fresh, old, ready] = [
      reloaded.open,
      reloaded.newRoute,
      reloaded.oldStill,
      reloaded.readyz,
    ].map((step) => step.in(evidence).at(-1))
    return {
      'added-route-serves': [
        fresh!.status === 200 && servedBy(evidence, fresh!) !== null,
        'a call of the route that was added',
        '200, from a provider',
        endText(fresh!),
        refs(fresh),
      ],
      'invalid-changes-nothing': [
        old!.status === 200,
        'a call after an invalid file',
        '200, by the old configuration',
        endText(old!),
        refs(old),
      ],
      'invalid-is-reported': [
        at(jsonOf(ready!.body), '/configuration/state') === 'rejected',
        'what /readyz says of the invalid file',
        'configuration.state rejected',
        `${endText(ready!)}: ${ready!.body.slice(0, 160)}`,
        refs(ready),
      ],
      'open-stream-ends-well': [
        open!.end === 'complete' && /^one\.+two$/.test(readAnswer(open!).content),
        'the stream that was open while the configuration was reloaded',
        'complete, from "one" to "two"',
        `${open!.end}, with ${JSON.stringify(readAnswer(open!).content)}`,
        refs(open),
      ],
    }
  },
})
