// LIFE and what else needs a gateway of its own: killed, ended, capped, reconfigured. This interface only.
// One family, one file.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import { labelled, ref, refs, servedBy, where } from '../lookup.ts'
import { at, jsonOf, type Json as Row, readChat } from '../reading.ts'
import { LOG, readAll, rowsIn } from '../request-log.ts'
import { DONE, delta } from '../scripted.ts'
import type { Session } from '../session.ts'

/** Size and time of every file that a gateway keeps; SQLite's shared memory is no content. */
async function factsOf(session: Session): Promise<Record<string, string>> {
  const files = [...(await session.running.files!.list())].filter(([name]) => !name.endsWith('-shm'))
  return Object.fromEntries(
    files.map(([name, { bytes, changedAt }]) => [name, `${bytes} bytes, ${changedAt}`]),
  )
}

/** An artifact is written within five seconds of its call's end, ms. */
const ARTIFACTS_WAIT = 6_000

/** The files once what earlier calls left has been written, and a second has passed in which none of them changed. */
async function settledFiles(session: Session): Promise<Record<string, string>> {
  await session.wait(ARTIFACTS_WAIT - 1_000)
  let files = await factsOf(session)
  for (let tries = 0; tries < 10; tries++) {
    await session.wait(1_000)
    const before = files
    files = await factsOf(session)
    if (isDeepStrictEqual(files, before)) break
  }
  return files
}

export const readsWriteNothing = {
  id: 'PURE-05',
  timeout: 60_000,
  needs: ['files', 'read_paths'],
  async exercise(session) {
    await session.chat('call')
    session.note('before', await settledFiles(session))
    for (let times = 0; times < 3; times++)
      for (const path of session.target.capabilities.read_paths) await readAll(session, 'read', path)
    await session.wait(500)
    session.note('after', await factsOf(session))
  },
  judge({ evidence }) {
    const { before, after } = evidence.facts as Record<string, Record<string, string>>
    const changed = Object.keys({ ...before, ...after }).filter((name) => before![name] !== after![name])
    const reads = labelled(evidence, 'read')
    return [
      finding(
        reads.length > 0 && Object.keys(before!).length > 1 && changed.length === 0,
        `${reads.length} reads; changed files: ${changed.join(', ') || 'none'} of ${Object.keys(before!).length}`,
        reads.map(ref),
      ),
    ]
  },
} satisfies Check

export const bodyLimit = {
  id: 'FAIL-03',
  needs: ['variant:small'],
  async exercise(session) {
    await session.another('small')
    const body = JSON.stringify({
      model: session.model,
      messages: [{ role: 'user', content: 'x'.repeat(2 ** 20) }],
    })
    const headers = { 'content-type': 'application/json' }
    await session.ask('too large', '/v1/chat/completions', { method: 'POST', headers, body })
    // The length alone is enough: nothing of the body is ever sent.
    await session.ask('announced', '/v1/chat/completions', {
      method: 'POST',
      headers: { ...headers, 'content-length': String(2 ** 30) },
      body: null,
      timeout: 3_000,
    })
    await session.chat('afterwards')
  },
  judge: ({ evidence }) => [
    ...[...labelled(evidence, 'too large'), ...labelled(evidence, 'announced')].map((exchange) =>
      finding(
        exchange.status === 413 && at(jsonOf(exchange.body), '/error/code') === 'body_too_large',
        `${exchange.label}: ${exchange.status ?? exchange.error} after ${Math.round(exchange.end_at - exchange.at)} ms`,
        [ref(exchange)],
      ),
    ),
    ...labelled(evidence, 'afterwards').map((exchange) =>
      finding(exchange.status === 200, `a proper call afterwards: ${exchange.status}`, [ref(exchange)]),
    ),
  ],
} satisfies Check

export const killLosesNothing = {
  id: 'LIFE-01',
  needs: ['restart', 'process', 'attempts'],
  timeout: 90_000,
  async exercise(session) {
    const running = await session.another(null)
    for (let round = 0; round < 3; round++) {
      const gate = session.nonce()
      const held = [{ events: [delta('one'), { gate }, DONE] }]
      const open = await Promise.all(
        Array.from({ length: 6 }, () => session.openChat('open', { stream: true, script: held })),
      )
      await Promise.all(open.map((call) => call.until((body) => body.includes('one'), 5_000)))
      const busy = await Promise.all(
        Array.from({ length: 20 }, (_, n) => session.openChat('busy', { stream: n % 2 === 0 })),
      )
      await session.wait(5 + round * 10)
      await running.stop('killed')
      await Promise.all([...open, ...busy].map(({ done }) => done))
      await session.witness.release(gate)
      await running.start()
    }
    let cursor: unknown = null
    do {
      const page = await readAll(session, 'log', `${LOG}?limit=200${cursor ? `&cursor=${cursor}` : ''}`)
      cursor = at(jsonOf(page.body), '/next_cursor')
      for (const { id } of rowsIn(page)) await readAll(session, 'record', `${LOG}/${id}`)
    } while (cursor)
  },
  judge({ evidence }) {
    const records = labelled(evidence, 'record').map(({ body }) => jsonOf(body) as Row)
    const attempts = records.flatMap(({ attempt_log }) => attempt_log as Row[])
    const inferences = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const count = (items: readonly { provider: string; model: string | null }[]) => {
      const counts = new Map<string, number>()
      for (const each of items) counts.set(where(each), (counts.get(where(each)) ?? 0) + 1)
      return counts
    }
    const [seen, written] = [count(inferences), count(attempts as { provider: string; model: string }[])]
    const lost = [...seen].filter(([road, n]) => (written.get(road) ?? 0) < n)
    const sure = attempts.filter(
      ({ outcome, status }) => !['not_sent', 'unknown'].includes(outcome) && status !== null,
    )
    const surplus = [...count(sure as { provider: string; model: string }[])].filter(
      ([road, n]) => (seen.get(road) ?? 0) < n,
    )
    const stillOpen = records.filter(({ state }) => state === 'routed' || state === 'streaming')
    const interrupted = records.filter(({ state }) => state === 'interrupted')
    const unknown = interrupted
      .flatMap(({ attempt_log }) => attempt_log as Row[])
      .filter(({ outcome }) => outcome === 'unknown')
    return [
      finding(
        inferences.length > 0 && lost.length === 0,
        `${inferences.length} inferences, ${attempts.length} attempts on record; lost: ${lost.map(([road]) => road).join(', ') || 'none'}`,
      ),
      finding(
        surplus.length === 0,
        `attempts that claim an answer which no provider gave: ${surplus.map(([road]) => road).join(', ') || 'none'}`,
      ),
      finding(stillOpen.length === 0, `${stillOpen.length} records are still open after the start`),
      finding(
        interrupted.length > 0 && unknown.length >= interrupted.length,
        `${interrupted.length} calls interrupted, ${unknown.length} attempts unknown`,
      ),
    ]
  },
} satisfies Check

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
        whole,
        `the open stream ended ${open!.end} with ${JSON.stringify(readChat(open!.body).content)}`,
        refs(open),
      ),
      finding(fresh!.status !== 200, `a new call meanwhile: ${fresh!.status ?? fresh!.error}`, refs(fresh)),
      finding(
        at(jsonOf(record?.body ?? ''), '/state') === 'completed',
        `its record says ${at(jsonOf(record?.body ?? ''), '/state')}`,
        refs(record),
      ),
      finding(
        evidence.marks.stopped! - evidence.marks.stream_end! < 5_000,
        `it ended ${Math.round(evidence.marks.stopped! - evidence.marks.stream_end!)} ms after its last stream`,
      ),
    ]
  },
} satisfies Check

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
        labelled(evidence, 'call').length === 400 && rows.length > 0 && rows.length <= 100,
        `of 400 calls ${rows.length} records are kept, cap 100`,
        refs(log),
      ),
      finding(
        (evidence.facts.bytes as number) <= 4 * 2 ** 20,
        `${evidence.facts.bytes} bytes on disk, cap ${4 * 2 ** 20}`,
      ),
      finding(
        dangling.length === 0,
        `${dangling.length} records and artifacts contradict each other`,
        dangling.map(ref),
      ),
      finding(
        artifacts.filter(({ status }) => status === 200).length <= 20,
        `${artifacts.filter(({ status }) => status === 200).length} artifacts, cap 20`,
      ),
      finding(totals === rows.length, `sums cover ${totals} calls, the log ${rows.length}`),
    ]
  },
} satisfies Check

export const secondProcess = {
  id: 'LIFE-05',
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    session.note('said', await running.second({ WAYBILL_PORT: '0' }))
    await session.chat('afterwards')
  },
  judge({ evidence }) {
    const said = evidence.facts.said as string | null
    const lines = (said ?? '')
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{') || /in use/.test(line))
    const [after] = labelled(evidence, 'afterwards')
    return [
      finding(
        said !== null && /in use/.test(said) && lines.length === 1 && !/\n\s+at /.test(said),
        `a second process said: ${said?.trim() ?? 'nothing, it came up'}`,
      ),
      finding(after!.status === 200, `the first one goes on: ${after!.status}`, refs(after)),
    ]
  },
} satisfies Check

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
        fresh!.status === 200 && servedBy(evidence, fresh!) !== null,
        `a route that was added: ${fresh!.status}`,
        refs(fresh),
      ),
      finding(
        old!.status === 200,
        `after an invalid file the old configuration serves: ${old!.status}`,
        refs(old),
      ),
      finding(
        at(jsonOf(ready!.body), '/configuration/state') === 'rejected',
        `/readyz says ${ready!.status}: ${ready!.body.slice(0, 160)}`,
        refs(ready),
      ),
      finding(
        open!.end === 'complete' && readChat(open!.body).content === 'onetwo',
        `the stream that was open meanwhile ended ${open!.end}`,
        refs(open),
      ),
    ]
  },
} satisfies Check
