// Additions of the program to the gateway's line: terminal links and facts that only the client knows. The
// gateway's answer is not trusted.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { clock } from '../shared/clock.ts'
import { cells } from '../terminal/width.ts'
import { ask, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { openMemory } from './memory.ts'
import { statusLine } from './program.ts'
import { sound } from './remote-line.ts'
import { bare, front, patiently } from './test-statusline.ts'

const input = (more = {}) =>
  JSON.stringify({ session_id: 's', model: { id: 'auto', display_name: 'Auto' }, ...more })

function drawOnce(t: TestContext, url: string, args: readonly string[], env = {}, more = {}) {
  const surroundings = { XDG_CACHE_HOME: temporaryDirectory(t), WAYBILL_URL: url, ...env }
  const stdin = Readable.from([Buffer.from(input(more))])
  return statusLine(args, { stdin, env: surroundings, now: clock.now })
}

/** Draws the line of a healthy gateway. */
const draw = (...given: Parameters<typeof drawOnce>) =>
  patiently(
    () => drawOnce(...given),
    ({ stderr }) => stderr === '',
  )

test('the status line contains the client’s directory and context, and a link to the record', async (t) => {
  const gateway = await testGateway(t)
  const { headers } = await gateway.chat(ask('auto'), { 'x-session-id': 's' })
  const id = headers.get('x-gateway-request-id')
  const more = {
    context_window: { used_percentage: 41.7 },
    workspace: { current_dir: join(temporaryDirectory(t), 'dir') },
  }
  const segments = ['--segments', 'route,context,place']
  const { stdout } = await draw(t, gateway.url, [...segments, '--links', 'on'], {}, more)
  assert.ok(stdout.includes(`\u001b]8;;${gateway.url}/api/usage/request-logs/${id}\u0007`), stdout)
  const plain = await draw(t, gateway.url, segments, { NO_COLOR: '1' }, more)
  assert.equal(plain.stdout, 'auto → alpha/model-a · context 42 % · dir\n')
  const none = await drawOnce(t, 'nonsense', segments, { NO_COLOR: '1' }, more)
  assert.match(none.stdout, /^Auto · the gateway has no address.* · context 42 % · dir\n$/)
})

test('a cached line is shortened if the terminal has become narrower (LINE-05, LINE-06)', async (t) => {
  const gateway = await testGateway(t)
  await gateway.chat(ask('auto'), { 'x-session-id': 's' })
  const { url, become } = await front(t, gateway.url)
  const env = { XDG_CACHE_HOME: temporaryDirectory(t), COLUMNS: '80' }
  await draw(t, url, [], env)
  become(null)
  const { stdout } = await drawOnce(t, url, [], { ...env, COLUMNS: '18' })
  assert.equal(bare(stdout), 'auto → alpha/mode…\n')
})

test('of the control sequences in the gateway’s answer, only colours and links reach the terminal, with no more text than fits (LINE-06, LINE-07)', async (t) => {
  const line = '\u001b[31mred\u001b[0m\u001b[2J\u202e \u001b]0;title\u0007模型模型'
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/plain; charset=utf-8').end(`${line}\n${line}\n0\n`),
  ).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { stdout } = await draw(t, url, [], { COLUMNS: '18' })
  assert.equal(stdout, '\u001b[31mred\u001b[0m[2J ]0;title模…\n')
  assert.equal(
    sound('\u001b]8;;javascript:x\u0007a\u001b]8;;\u0007', null, cells),
    ']8;;javascript:xa\u001b]8;;\u0007',
  )
})

test('a line is kept only in a directory that nobody else can enter', (t) => {
  const directory = temporaryDirectory(t)
  const { keep, recall } = openMemory(directory)
  const subject = ['the gateway', 'the session']
  keep(subject, 'line', 1)
  for (const mode of [0o701, 0o710, 0o720, 0o740, 0o750]) {
    chmodSync(directory, mode)
    assert.throws(() => keep(subject, 'another line', 2), /is not private/, mode.toString(8))
    assert.equal(recall(subject), null)
  }
  chmodSync(directory, 0o700)
  assert.deepEqual(recall(subject), { aged: 'line', at: 1 })
})
