// `waybill logs` as a user runs it: a child process with a gateway that serves calls.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { answer, chunk, DONE, fail } from '../../mocks/test-upstream.ts'
import { cells } from '../terminal/width.ts'
import { startCli } from '../test/test-cli.ts'
import { ask, TWO_TARGETS, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'
import { createCallTable, type ShownCall } from './logs-table.ts'

function logs(...args: string[]) {
  const { child, said } = startCli(['logs', ...args])
  return { child, said, closed: once(child, 'close') }
}

test('the newest calls are printed as a table or as lines of JSON, and filters narrow the list', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(500), beta: answer() },
    config: TWO_TARGETS,
  })
  for (const session of ['s-1', 's-2'])
    await gateway.record(
      (await gateway.chat(ask('auto'), { 'x-session-id': session })).headers.get('x-gateway-request-id'),
    )
  const table = logs('--url', gateway.url)
  assert.deepEqual(await table.closed, [0, null], table.said.stderr)
  const [header, first, second] = table.said.stdout.split('\n')
  assert.match(
    header!,
    /^time +state +asked → went +strategy +purpose +latency +tokens +cost +client +session$/,
  )
  assert.match(
    first!,
    /^\d\d:\d\d:\d\d {2}completed +auto → ↷ beta\/model-b +priority +main +[\d.]+ m?s +20→7 +- +node +s-1$/,
  )
  assert.match(second!, /s-2$/)
  assert.ok(!table.said.stdout.includes('\u001b'), 'no colours where there is no terminal')
  const json = logs('--url', gateway.url, '--json', '--session', 's-2')
  assert.deepEqual(await json.closed, [0, null])
  assert.equal(JSON.parse(json.said.stdout).session_id, 's-2')
  await gateway.chat(ask('auto'), { 'user-agent': 'my-agent/1.2 (test)' })
  const mine = logs('--url', gateway.url, '--json', '--client', 'my-agent/1.2 (test)')
  assert.deepEqual(await mine.closed, [0, null], mine.said.stderr)
  assert.deepEqual(
    mine.said.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).client),
    ['my-agent/1.2 (test)'],
  )
})

test('`--follow` prints every call once, at its end, and Ctrl-C exits with 0', async (t) => {
  let release = () => {}
  const held = new Promise<void>((done) => (release = done))
  const gateway = await testGateway(t, {
    providers: {
      alpha: async (response, received) => {
        if (received.json.model !== 'slow') return answer()(response, received)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(chunk({ content: 'x' }))
        await held
        response.end(chunk({}, { finish_reason: 'stop' }) + DONE)
      },
    },
  })
  await gateway.chat(ask('alpha/before'))
  const { child, said, closed } = logs('--url', gateway.url, '--follow', '--json')
  t.after(() => child.kill('SIGKILL'))
  const models = () =>
    said.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).resolved_model)
  const prints = (count: number) => until(`${count} calls are printed`, () => models().length >= count)
  await prints(1)
  const slow = gateway.chat(ask('alpha/slow', { stream: true }))
  for (let i = 0; i < 5; i++) await gateway.chat(ask(`alpha/quick-${i}`))
  await prints(6)
  release()
  await slow
  await prints(7)
  await sleep(2_200) // two more reads, which must repeat nothing
  assert.deepEqual(models(), ['before', 'quick-0', 'quick-1', 'quick-2', 'quick-3', 'quick-4', 'slow'])
  child.kill('SIGINT')
  assert.deepEqual(await closed, [0, null])
  assert.equal(said.stderr, '')
})

test('`--follow` retries while the record cannot be read, and misses no call (LOG-11)', async (t) => {
  const readers: Worker[] = []
  const note = (worker: Worker) => void (worker.threadName === 'reader' && readers.push(worker))
  process.on('worker', note)
  t.after(() => process.off('worker', note))
  const gateway = await testGateway(t, { options: { threads: true } })
  await gateway.chat(ask('alpha/before'))
  const { child, said, closed } = logs('--url', gateway.url, '--follow', '--json')
  t.after(() => child.kill('SIGKILL'))
  await until('a call is printed', () => said.stdout !== '')
  let meanwhile = 0
  for (; said.stderr === '' && meanwhile < 10; meanwhile++) {
    await readers.at(-1)!.terminate()
    await gateway.chat(ask('alpha/meanwhile'))
    await sleep(1_500)
  }
  await gateway.chat(ask('alpha/after'))
  await until('the later call is printed', () => said.stdout.includes('alpha/after'))
  child.kill('SIGINT')
  assert.deepEqual(await closed, [0, null])
  const models = said.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).resolved_model)
  assert.deepEqual(models, ['before', ...Array(meanwhile).fill('meanwhile'), 'after'])
  assert.match(
    said.stderr,
    /^(waybill: the gateway at \S+ answered 503: The request log cannot be read; the process log says why\. Asking again\.\n)+$/,
  )
})

test('without a gateway, a key or a reader of its output, `waybill logs` prints at most one line, and no stack trace', async (t) => {
  const nobody = logs('--url', 'http://127.0.0.1:9')
  assert.deepEqual(await nobody.closed, [1, null])
  assert.match(
    nobody.said.stderr,
    /^waybill: no gateway answers at http:\/\/127\.0\.0\.1:9; start it with [^\n]+\n$/,
  )

  const gateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/a } ] } }\nkeys: [ { name: ann, digest: "sha256:${'0'.repeat(64)}" } ]`,
  })
  const refused = logs('--url', gateway.url)
  assert.deepEqual(await refused.closed, [1, null])
  assert.match(refused.said.stderr, /^waybill: the gateway at [^ ]+ requires a key; [^\n]+\n$/)

  const other = createServer((_request, response) => response.end('{"data":[{"id":7}]}')).listen(
    0,
    '127.0.0.1',
  )
  t.after(() => other.close())
  await once(other, 'listening')
  const stranger = logs('--url', `http://127.0.0.1:${(other.address() as AddressInfo).port}`)
  assert.deepEqual(await stranger.closed, [1, null])
  assert.match(stranger.said.stderr, /^waybill: the server at \S+ is not a Waybill gateway \(status 200\)\n$/)

  const open = await testGateway(t)
  await open.chat(ask('auto'))
  const left = logs('--url', open.url, '--follow')
  left.child.stdout.destroy()
  const calls: Promise<unknown>[] = []
  const call = setInterval(() => calls.push(open.chat(ask('auto'))), 200)
  const result = await left.closed
  clearInterval(call)
  await Promise.all(calls)
  assert.deepEqual(result, [0, null])
  assert.equal(left.said.stderr, '')
})

const call: ShownCall = {
  id: '01a1fdc9-6a95-729c-8d55-580a16cb1bb0',
  created_at: '2026-11-21T07:00:00.000Z',
  completed_at: null,
  state: 'failed',
  requested_model: 'auto',
  resolved_provider: 'openai',
  resolved_model: 'gpt-5-mini',
  strategy: 'priority',
  session_id: '5f0c2b9e-0000',
  purpose: 'subagent',
  status: 502,
  error_code: null,
  fallbacks: 0,
  latency_ms: 478.1,
  tokens: { input: 1600, output: null },
  cost_usd: null,
  client: 'claude-cli/2.1.330 (external, cli)',
}

test('no row is wider than the terminal, and the target is the last column to be dropped (TELL-06)', () => {
  const hostile = {
    ...call,
    requested_model: `x\u001b]0;owned\u0007\n${'宽'.repeat(60)}`,
    session_id: '\u202e\u009b2J',
  }
  for (const columns of [10, 20, 40, 60, 80, 120, 200])
    for (const each of [call, hostile]) {
      const { header, row } = createCallTable(columns, (_, text) => text)
      for (const line of [header(), row(each)]) {
        assert.ok(cells(line) <= columns, `${columns}: ${line}`)
        assert.doesNotMatch(line, /\p{C}/u)
      }
      if (columns >= 60) assert.match(row(each), /failed 502 .*openai\/gpt-5-mini/)
    }
  assert.match(
    createCallTable(200, (_, text) => text).row(call),
    /auto → openai\/gpt-5-mini +priority +subagent +478 ms +1\.6k→- +- +claude-cli +5f0c2b9e-0000$/,
  )
  const partial = { ...call, cost_usd: 0.000365, cost_missing: ['attempt'] }
  assert.match(createCallTable(120, (_, text) => text).row(partial), / ≥ \$0\.000365 +claude-cli$/)
})

test('refused calls appear in the list with their error, and failed calls with their code', async (t) => {
  const gateway = await testGateway(t, { providers: { alpha: fail(500), beta: answer() } })
  await gateway.chat(ask('nowhere'))
  await gateway.record((await gateway.chat(ask('auto'))).headers.get('x-gateway-request-id'))
  await gateway.chat('{')
  const table = logs('--url', gateway.url, '--since', '1h')
  assert.deepEqual(await table.closed, [0, null], table.said.stderr)
  const [, unknown, failed, broken] = table.said.stdout.split('\n')
  assert.match(unknown!, / refused 404 +model_not_found: No route and no provider\/model is called "nowhere"/)
  assert.match(failed!, / failed 500 +auto → alpha\/model-a: e500 /)
  assert.match(broken!, / refused 400 +invalid_json: /)
  const narrowed = logs('--url', gateway.url, '--status', 'error')
  assert.deepEqual(await narrowed.closed, [0, null])
  assert.doesNotMatch(narrowed.said.stdout, /refused/)
  const json = logs('--url', gateway.url, '--json')
  assert.deepEqual(await json.closed, [0, null])
  assert.equal(json.said.stdout.trim().split('\n').length, 1, 'JSON lines are records')
  const one = logs('--url', gateway.url, '--limit', '1')
  assert.deepEqual(await one.closed, [0, null])
  assert.match(one.said.stdout, /^.*\n.* refused 400 .*\n$/)

  const following = logs('--url', gateway.url, '--follow')
  t.after(() => following.child.kill('SIGKILL'))
  const prints = (pattern: RegExp) =>
    until(`${pattern} is printed`, () => pattern.test(following.said.stdout))
  await prints(/refused 400/)
  await gateway.chat(ask('alpha/'))
  await prints(/is called "alpha\/"/)
  await sleep(1_200)
  assert.equal(following.said.stdout.match(/refused/g)!.length, 3, 'each once')
})

test('`--url` and WAYBILL_URL take precedence over the gateway’s address in the configuration', async (t) => {
  const gateway = await testGateway(t)
  await gateway.chat(ask('alpha/model-a'))
  const file = join(temporaryDirectory(t), 'w.yaml')
  const listening = (port: string) =>
    writeFileSync(
      file,
      `server: { port: ${port} }\nproviders: { a: { dialect: openai, base_url: "http://127.0.0.1:9/v1", key: $NOT_SET } }\n`,
    )
  listening(new URL(gateway.url).port)
  const own = logs('-c', file, '--json')
  assert.deepEqual(await own.closed, [0, null], own.said.stderr)
  assert.equal(JSON.parse(own.said.stdout).resolved_model, 'model-a')
  listening('9')
  const nobody = logs('-c', file)
  assert.deepEqual(await nobody.closed, [1, null])
  assert.match(nobody.said.stderr, /no gateway answers at http:\/\/127\.0\.0\.1:9;/)
  assert.deepEqual(await logs('-c', file, '--url', gateway.url).closed, [0, null])
})
