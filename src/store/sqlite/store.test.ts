// The store as a gateway uses it: writes, storage, reads and refusals. Over 250 lines, because it is a list
// of cases.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { answer, chunk, stream, streamed } from '../../../mocks/test-upstream.ts'
import { periodOf } from '../../core/period.ts'
import { onStray } from '../../shared/boundary.ts'
import { sleep, useClock } from '../../shared/clock.ts'
import { dated, manualClock } from '../../shared/test-clock.ts'
import { ask, providerKey, temporaryDirectory, testGateway } from '../../test/test-gateway.ts'
import { pause, until } from '../../test/test-until.ts'
import { type CommitHere, type Done, WriteQueue } from '../queue.ts'
import type { Opening } from '../writes.ts'
import { StoreError } from './data-files.ts'
import { databaseFile } from './open.ts'
import { openStore } from './open-store.ts'

/** Any write except an opening. */
type Ending = Parameters<WriteQueue['add']>[0]

const opened = (queue: WriteQueue): Promise<void> =>
  promisify((done: Done) => queue.open({ kind: 'open' } as Opening, done))()

const options = (directory: string) => ({
  directory,
  durability: 'process' as const,
  retention: { rows: 1_000, days: 30, bytes: 2 ** 30 },
  artifacts: { keep: 10, bytes: 2 ** 20 },
})

test('the threads load no package except better-sqlite3, so that they start fast', () => {
  const load = `import { registerHooks } from 'node:module'
    const names = new Set()
    const resolve = (name, context, next) => {
      if (/\\.ts$/.test(context.parentURL)) names.add(name)
      return next(name, context)
    }
    registerHooks({ resolve })
    await import('./in-line.ts')
    console.log(JSON.stringify([...names].filter((name) => !/^[.]|^node:/.test(name))))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', load], {
    cwd: import.meta.dirname,
    env: { PATH: process.env.PATH }, // not the compile cache, whose relative path would be in this directory
    encoding: 'utf8',
  })
  assert.equal(stdout, '["better-sqlite3"]\n', stderr)
})

test('a call whose record cannot be written is refused before it reaches a provider; reads and readiness report the error', async (t) => {
  const gateway = await testGateway(t)
  const other = new Database(databaseFile(gateway.data))
  other.exec(
    `CREATE TRIGGER full BEFORE INSERT ON call_logs BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`,
  )
  const { status, json } = await gateway.chat(ask('auto'))
  assert.deepEqual([status, json.error.code], [503, 'log_unavailable'])
  assert.equal(gateway.received(), 0)
  assert.equal((await gateway.get('/readyz')).status, 503)
  await pause(600) // two retries, which write how the refused call ended
  assert.equal((await gateway.get('/readyz')).status, 503, 'still not ready')
  other.exec('DROP TRIGGER full')
  other.close()
  await until('it is ready', async () => (await gateway.get('/readyz')).status === 200)
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
})

test('if the log is truncated while a batch is being committed, the log is named, not SQLite’s error (LIFE-04)', async (t) => {
  const reasons = new Set<unknown>()
  const error = (fields: { readonly reason?: unknown }) => void reasons.add(fields.reason)
  const gateway = await testGateway(t, {
    options: { threads: true, log: { error, warn() {}, info() {}, debug() {} } },
  })
  await gateway.record((await gateway.chat(ask('auto'))).headers.get('x-gateway-request-id'))
  const other = new Database(databaseFile(gateway.data))
  t.after(() => other.close())
  other.pragma(`user_version = ${other.pragma('user_version', { simple: true })}`) // clears the caches of others
  other.exec('BEGIN IMMEDIATE')
  const waiting = gateway.chat(ask('auto'))
  await pause(500) // the writer thread waits for the lock
  truncateSync(`${databaseFile(gateway.data)}-wal`)
  other.exec('ROLLBACK')
  const { status, json } = await waiting
  assert.deepEqual([status, json.error.code], [503, 'log_unavailable'])
  assert.equal((await gateway.get('/readyz')).status, 503)
  assert.deepEqual(
    [...reasons],
    ['waybill.db-wal was truncated or overwritten by another program; restart the gateway'],
  )
  assert.equal(gateway.received(), 1, 'nothing more is spent')
})

test('when only the closing write fails, the client still receives its answer, and the write is retried', async (t) => {
  const gateway = await testGateway(t, { providers: { alpha: streamed('hello') } })
  const other = new Database(databaseFile(gateway.data))
  other.exec(
    `CREATE TRIGGER full BEFORE UPDATE ON call_logs BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`,
  )
  const { status, text, headers } = await gateway.chat(ask('auto', { stream: true }))
  assert.equal(status, 200)
  assert.match(text, /hello[\s\S]*DONE/)
  await until('the closing write was tried', async () => (await gateway.get('/readyz')).status !== 200)
  other.exec('DROP TRIGGER full')
  other.close()
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'completed')
})

test('no file of the data directory contains a prompt, an answer or a key (KEEP-01, LOG-12)', async (t) => {
  const gateway = await testGateway(t, { providers: { alpha: streamed('ANSWER-CANARY') } })
  const { headers } = await gateway.chat({
    ...ask('auto', { stream: true }),
    messages: [{ role: 'user', content: 'PROMPT-CANARY' }],
  })
  await gateway.record(headers.get('x-gateway-request-id'))
  for (const name of ['waybill.db', 'waybill.db-wal']) {
    const bytes = readFileSync(join(gateway.data, name), 'latin1')
    assert.doesNotMatch(bytes, new RegExp(`CANARY|${providerKey('alpha')}`), name)
    if (name.endsWith('-wal')) assert.match(bytes, /model-a/, 'the record is in there')
  }
  assert.equal(statSync(gateway.data).mode & 0o777, 0o700)
  assert.equal(statSync(databaseFile(gateway.data)).mode & 0o777, 0o600)
})

test('a second gateway on the same data directory is refused with a one-line error (LIFE-05)', async (t) => {
  const gateway = await testGateway(t)
  await assert.rejects(openStore(options(gateway.data)), (error: Error) => {
    assert.ok(error instanceof StoreError)
    assert.match(error.message, /^data directory .+ is in use by another Waybill; .+$/)
    return true
  })
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
})

test('a file that is not a database, or has a newer schema, is refused and left unchanged (LIFE-04)', async (t) => {
  const data = temporaryDirectory(t)
  writeFileSync(databaseFile(data), 'this is not a database, but it is somebody’s')
  await assert.rejects(openStore(options(data)), /cannot use data directory .+not a database/)
  assert.match(readFileSync(databaseFile(data), 'utf8'), /^this is not a database/)

  const newer = temporaryDirectory(t)
  await (await openStore(options(newer))).close()
  const db = new Database(databaseFile(newer))
  db.pragma('user_version = 999')
  db.close()
  await assert.rejects(openStore(options(newer)), /newer Waybill \(schema 999/)
})

test('at the next start, calls that a killed process left open become interrupted, and their attempts unknown; one that the cache answered costs nothing (LIFE-01, USE-08)', async (t) => {
  const data = temporaryDirectory(t)
  const hit = '01900000-0000-7000-8000-000000000002'
  const script = `
    import { promisify } from 'node:util'
    import { emptyCall } from ${JSON.stringify(new URL('../../core/call.ts', import.meta.url).href)}
    import { openStore } from ${JSON.stringify(new URL('./open-store.ts', import.meta.url).href)}
    const store = await openStore(${JSON.stringify(options(data))})
    const route = { name: 'auto', strategy: 'priority', candidates: [{ provider: 'p', model: 'm', tier: null, weight: 1 }], decision: { cause: 'priority', skipped: [] } }
    await promisify(store.open)({ kind: 'open', call: { ...emptyCall('01900000-0000-7000-8000-000000000001'), keyName: 'k' }, route, reserved: 3 })
    await promisify(store.open)({ kind: 'open', call: { ...emptyCall('${hit}'), keyName: 'k', cache: 'HIT' }, route, reserved: 5 })
    process.kill(process.pid, 'SIGKILL')`
  const file = join(temporaryDirectory(t), 'victim.mjs')
  writeFileSync(file, script)
  const { signal, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
  assert.equal(signal, 'SIGKILL', stderr)
  t.after(useClock(dated(() => 5_000)))
  const store = await openStore(options(data))
  const record: any = await store.calls.find('01900000-0000-7000-8000-000000000001')
  const answered: any = await store.calls.find(hit)
  const spent = store.spending.spent({
    keyName: 'k',
    period: periodOf('month', Date.parse(record.created_at), null)!,
  })
  await store.close()
  assert.deepEqual(
    [answered.state, answered.attempt_log, answered.cost_usd, answered.cost_missing],
    ['interrupted', [], 0, []],
  )
  assert.deepEqual(
    [spent.usd, spent.unknownAttempts],
    [3, 0],
    'only the reservation of the other call is charged',
  )
  assert.deepEqual(
    [record.state, record.completed_at, record.attempt_log[0].outcome, record.cost_usd, record.cost_missing],
    ['interrupted', '1970-01-01T00:00:05.000Z', 'unknown', null, ['attempt']],
  )
})

test('call openings from the same event-loop turn are written together; call ends follow in order, one batch at a time (LOG-04)', async (t) => {
  const manual = manualClock()
  t.after(useClock(manual))
  const batches: string[][] = []
  let inFlight = 0
  const queue = new WriteQueue(async (batch) => {
    assert.equal(++inFlight, 1)
    batches.push(batch.map((write) => (write as { id: string }).id))
    await sleep(5)
    inFlight--
    return null
  })
  const write = (kind: Ending['kind'], id: string) => queue.add({ kind, id } as Ending)
  const first = [write('close', 'a'), write('next', 'b'), write('next', 'c')]
  await manual.advance(2)
  const second = [write('next', 'd'), write('close', 'e')]
  await manual.advance(20)
  await Promise.all([...first, ...second])
  assert.deepEqual(batches, [['b', 'c'], ['d'], ['a', 'e']])
  const flushed = [write('close', 'x'), write('next', 'y'), queue.flush()]
  await manual.advance(5)
  await Promise.all(flushed)
  assert.deepEqual(batches.at(-1), ['y', 'x'], 'a read takes the closings along')
  void write('close', 'f')
  await manual.advance(10)
  assert.deepEqual(batches.at(-1), ['f'])
})

test('the ends of calls are written in small batches, so that a new call waits for only a few ends', async (t) => {
  const manual = manualClock()
  t.after(useClock(manual))
  const batches: string[][] = []
  const queue = new WriteQueue(async (batch) => {
    batches.push(batch.map((write) => (write as { id: string }).id))
    await sleep(2)
    return null
  })
  const closings = Array.from({ length: 200 }, (_, n) => queue.add({ kind: 'close', id: `${n}` } as Ending))
  const next = sleep(5).then(() => queue.add({ kind: 'next', id: 'opening' } as Ending))
  await manual.advance(1_000)
  await Promise.all([...closings, next])
  const at = batches.findIndex((batch) => batch.includes('opening'))
  assert.ok(at > 0 && at < batches.length - 1, `the opening went with batch ${at + 1} of ${batches.length}`)
  for (const batch of batches) assert.ok(batch.length <= 25, `${batch.length} writes in a batch`)
  assert.deepEqual(
    batches.flat().filter((id) => id !== 'opening'),
    closings.map((_, n) => `${n}`),
  )
})

test('a closing write that can never succeed does not delay other writes', async (t) => {
  const manual = manualClock()
  t.after(useClock(manual))
  const written: string[] = []
  const queue = new WriteQueue(async (batch) => {
    const ids = batch.map((write) => (write as { id: string }).id)
    written.push(...ids.filter((id) => id !== 'poison'))
    return ids.map((id) => (id === 'poison' ? 'datatype mismatch' : null))
  })
  const write = (kind: Ending['kind'], id: string) => queue.add({ kind, id } as Ending)
  void write('close', 'poison')
  const both = [write('next', 'a'), write('close', 'b')]
  await manual.advance(300)
  await Promise.all(both)
  await write('next', 'c')
  assert.deepEqual(written, ['a', 'b', 'c'])
})

test('while nothing can be written, no call waits for the refusals of other calls (LIFE-04)', async () => {
  let tries = 0
  const queue = new WriteQueue(async () => {
    tries++
    throw new Error('database is locked')
  })
  const writes = Array.from({ length: 50 }, () => opened(queue))
  for (const { status } of await Promise.allSettled(writes)) assert.equal(status, 'rejected')
  assert.equal(tries, 1)
  await queue.drain(1)
})

test('while a batch hangs, calls are refused and reads stop waiting; the batch may still succeed (LIFE-04)', async (t) => {
  const manual = manualClock()
  t.after(useClock(manual))
  const said: string[] = []
  let sent = 0
  let end = () => {}
  const queue = new WriteQueue(
    (batch) =>
      new Promise((resolve) => {
        sent++
        end = () => resolve(batch.map(() => null))
      }),
    (why) => said.push(why),
  )
  const first = opened(queue)
  await until('the opening is sent', () => sent === 1)
  const meanwhile = queue.add({ kind: 'next' } as Ending)
  const closing = queue.add({ kind: 'close' } as Ending)
  const flushed = queue.flush()
  const refused = assert.rejects(meanwhile)
  await manual.advance(3_000)
  await flushed
  await refused
  assert.match(queue.failure!, /nothing has been written for 3000 ms/)
  await assert.rejects(opened(queue), /nothing has been written/)
  await queue.flush()
  assert.equal(said.length, 1)
  end()
  await first
  assert.equal(queue.failure, null)
  await until('the closing is sent', () => sent === 2)
  end()
  await closing
})

test('a slow batch does not delay calls that the main thread can record (LIFE-04)', async (t) => {
  const manual = manualClock()
  t.after(useClock(manual))
  let sent = 0
  let end = () => {}
  let here: ReturnType<CommitHere> = 'committed'
  const queue = new WriteQueue(
    (batch) =>
      new Promise((resolve) => {
        sent++
        end = () => resolve(batch.map(() => null))
      }),
    undefined,
    () => here,
  )
  const closing = queue.add({ kind: 'close' } as Ending)
  await until('the closing is sent', () => sent === 1)
  const first = opened(queue)
  await manual.advance(100)
  await first
  await opened(queue)
  here = 'locked'
  let isRecorded = false
  const waiting = opened(queue).then(() => (isRecorded = true))
  await manual.advance(2_000)
  assert.match(queue.failure!, /nothing has been written for/)
  assert.equal(isRecorded, false, 'it waits while the database is locked')
  here = 'committed'
  await manual.advance(1_000)
  await waiting
  end()
  await closing
  assert.equal(queue.failure, null)
})

test('an answer’s ids are written with the next batch if the client waits for them, and otherwise with other writes', async () => {
  const batches: string[][] = []
  const queue = new WriteQueue(async (batch) => {
    batches.push(batch.map(({ kind }) => kind))
    return null
  })
  const named = { kind: 'named', id: 'a', responseId: 'r', containerId: null } as const
  const late = queue.add({ ...named, isAwaited: false })
  assert.deepEqual(batches, [])
  await queue.add({ ...named, isAwaited: true })
  assert.deepEqual(batches, [['named', 'named']])
  await late
})

test('impossible token counts are treated as not reported', async (t) => {
  const usage = { prompt_tokens: 12.5, completion_tokens: -1, prompt_tokens_details: { cached_tokens: 1e20 } }
  const gateway = await testGateway(t, { providers: { alpha: answer('x', usage) } })
  const first = await gateway.chat(ask('auto'))
  const { tokens } = await gateway.record(first.headers.get('x-gateway-request-id'))
  assert.deepEqual([tokens.input, tokens.output, tokens.cached_input], [null, null, null])
  assert.equal((await gateway.chat(ask('auto'))).status, 200)
})

test('closing the gateway records how its open calls ended (LIFE-02)', async (t) => {
  const data = temporaryDirectory(t)
  const gateway = await testGateway(t, {
    providers: { alpha: stream(chunk({ content: 'a' }), 60_000) },
    data,
  })
  const streaming = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ask('auto', { stream: true })),
  })
  gateway.upstream.alpha!.script = () => {} // and one that waits for its answer
  const waiting = gateway.chat(ask('auto')).catch(() => null)
  await until('two requests', () => gateway.received() >= 2)
  await gateway.gateway.close(100)
  await waiting
  await streaming.text().catch(() => null)
  const store = await openStore(options(data))
  const { data: records } = await store.calls.list({}, { limit: 10 })
  await store.close()
  assert.deepEqual(
    records.map((record) => record.state),
    ['aborted', 'aborted'],
  )
})

test('a client that is still reading its answer when the gateway closes gets all of it (LIFE-02)', async (t) => {
  const data = temporaryDirectory(t)
  // More than the operating system holds for a client that does not read.
  const gateway = await testGateway(t, { providers: { alpha: answer('x'.repeat(2 ** 24)) }, data })
  const slow = await new Promise<IncomingMessage>((resolve) => {
    const headers = { 'content-type': 'application/json' }
    httpRequest(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers }, resolve).end(
      JSON.stringify(ask('auto')),
    )
  })
  const closed = gateway.gateway.close(60_000)
  await until('the gateway accepts nothing more', () =>
    fetch(gateway.url).then(
      () => false,
      () => true,
    ),
  )
  const { choices } = JSON.parse(await text(slow))
  assert.equal(choices[0].message.content.length, 2 ** 24)
  await closed
  const store = await openStore(options(data))
  const { data: records } = await store.calls.list({}, { limit: 10 })
  await store.close()
  assert.deepEqual(
    records.map((record) => record.state),
    ['completed'],
  )
})

test('a failed write is retried until its time limit', async () => {
  let tries = 0
  const queue = new WriteQueue(async () => {
    tries++
    throw new Error('disk full')
  })
  await assert.rejects(queue.add({ kind: 'next' } as Ending), /disk full/)
  void queue.add({ kind: 'close' } as Ending)
  await queue.drain(1_500) // six tries on an idle machine
  assert.ok(tries >= 3, `${tries} tries`)
  assert.equal(queue.failure, 'disk full')
})

test('while the files are gone, the deletion of old calls is a chore that failed, and no fault of the gateway (LIFE-04)', async (t) => {
  const manual = manualClock()
  t.after(useClock(manual))
  const strays: unknown[] = []
  t.after(onStray((error) => strays.push(error)))
  const data = temporaryDirectory(t)
  const chores: unknown[] = []
  const onChore = (chore: string, reason: string | null) => reason && chores.push([chore, reason])
  const store = await openStore({ ...options(data), threads: false, onChore })
  renameSync(databaseFile(data), `${databaseFile(data)}.away`)
  await manual.advance(60_000)
  await until('the chore has failed', () => chores.length > 0)
  await store.close().catch(() => {})
  assert.match(JSON.stringify(chores), /"delete_calls","waybill\.db is gone/)
  assert.deepEqual(strays, [])
})
