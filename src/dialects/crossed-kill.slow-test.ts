// Calls across dialects that end early: the client disconnects, the provider breaks off, or the gateway is
// killed. The record still shows the cost.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'
import { chunk, crossedGateway } from './test-crossed-gateway.ts'

const ask = (url: string, stream: boolean, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'auto',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'a story' }],
      stream,
    }),
    ...(signal ? { signal } : {}),
  })

/** Fifty deltas of six words, followed by the given ending. */
const story =
  (then: Script): Script =>
  (response, received) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let n = 0; n < 50; n++) {
      const delta = chunk({ [n % 2 ? 'content' : 'reasoning_content']: ' and so the story goes on' })
      response.write(`data: ${JSON.stringify(delta)}\n\n`)
    }
    setTimeout(() => then(response, received), 50)
  }

for (const [name, script, leaves, state] of [
  ['the client leaves', story(() => {}), true, 'aborted'],
  ['the provider breaks off', story((response) => response.destroy()), false, 'failed'],
  ['the provider ends too early', story((response) => response.end()), false, 'failed'],
] as const)
  test(`when ${name}, the token counts recorded for a Messages client’s call to a chat provider are estimates (USE-07)`, async (t) => {
    const gateway = await crossedGateway(t, 'chat', script)
    const leave = new AbortController()
    const response = await ask(gateway.url, true, leave.signal)
    let text = ''
    await (async () => {
      for await (const part of response.body!) {
        text += Buffer.from(part).toString()
        if (leaves && text.split('goes on').length > 50) leave.abort()
      }
    })().catch(() => {}) // a cut stream cannot be read to its end
    assert.equal(text.includes('message_stop'), false)
    const record = await gateway.newest()
    assert.deepEqual([record.state, record.tokens.source], [state, 'estimated'])
    assert.ok(record.tokens.output > 200 && record.tokens.output < 400, `output ${record.tokens.output}`)
    if (leaves) await until('the provider is left', () => gateway.upstream.alpha!.abandoned === 1)
  })

async function start(t: TestContext, config: string): Promise<{ url: string; child: ChildProcess }> {
  const cli = join(import.meta.dirname, '../cli.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', cli, 'serve', '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  for await (const part of child.stdout!) {
    said += part
    const url = /listens on ([^\s"]+)/.exec(said)?.[1]
    if (url) return { url, child }
  }
  throw new Error(`it did not start: ${said}`)
}

test('after a SIGKILL, every inference that a chat provider made for Messages clients is recorded, and open calls are recorded as interrupted (LIFE-01, LOG-07)', async (t) => {
  const provider = await startMockServer((response, received) =>
    (received.json.stream ? story(() => {}) : answer())(response, received),
  )
  t.after(() => provider.close())
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  writeFileSync(
    config,
    `server: { port: 0 }
data: .
providers: { alpha: { dialect: chat, base_url: "${provider.baseUrl}" } }
routes: { auto: { targets: [ { model: alpha/m } ] } }`,
  )
  const first = await start(t, config)
  for (let call = 0; call < 4; call++) await (await ask(first.url, false)).text()
  const open = Array.from({ length: 4 }, () =>
    ask(first.url, true)
      .then((each) => each.text())
      .catch(() => 'cut'),
  )
  await until('all calls have arrived', () => provider.ledger.length >= 8)
  // A read sees all calls closed whose answers have ended (LOG-04).
  await (await fetch(`${first.url}/api/usage/request-logs`)).text()
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  assert.deepEqual(await Promise.all(open), ['cut', 'cut', 'cut', 'cut'])

  const again = await start(t, config)
  const { data }: any = await (await fetch(`${again.url}/api/usage/request-logs?limit=200`)).json()
  const states = Object.groupBy(data as { state: string }[], ({ state }) => state)
  assert.deepEqual([data.length, states.completed?.length, states.interrupted?.length], [8, 4, 4])
})
