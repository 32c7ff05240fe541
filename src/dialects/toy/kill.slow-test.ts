// Records of calls in an unregistered dialect, after a SIGKILL in the middle of the calls.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startMockServer } from '../../../mocks/test-upstream.ts'
import { temporaryDirectory } from '../../test/test-gateway.ts'
import { until } from '../../test/test-until.ts'
import { samples } from './test-samples.ts'

const PROGRAM = join(import.meta.dirname, 'test-process.ts')
const ANSWERED = 6
const OPEN = 5

async function start(
  t: TestContext,
  baseUrl: string,
  data: string,
): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, baseUrl, data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  for await (const part of child.stdout!) {
    said += part
    const url = /listens on (\S+)/.exec(said)?.[1]
    if (url) return { url, child }
  }
  throw new Error(`it did not start: ${said}`)
}

const speak = (url: string, live: boolean): Promise<string> =>
  fetch(`${url}/toy/speak`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ voice: 'auto', say: 'hi', live }),
  }).then((response) => response.text())

test('after a SIGKILL every inference is recorded, and open calls are recorded as interrupted (LIFE-01, LOG-07)', async (t) => {
  const provider = await startMockServer((response, { json }) => {
    if (!json.live) return response.end(samples.answer('m', { heard: 20, spoken: 7 }))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: begin\ndata: {"voice":"m","heard":20}\n\n') // and nothing more
  })
  t.after(() => provider.close())
  const data = temporaryDirectory(t)
  const first = await start(t, provider.baseUrl, data)
  for (let call = 0; call < ANSWERED; call++) await speak(first.url, false)
  const open = Array.from({ length: OPEN }, () => speak(first.url, true).catch(() => 'cut'))
  await until('all calls have arrived', () => provider.ledger.length >= ANSWERED + OPEN)
  // A read sees all calls closed whose answers have ended (LOG-04).
  await (await fetch(`${first.url}/api/usage/request-logs`)).text()
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  assert.ok((await Promise.all(open)).includes('cut'))

  const again = await start(t, provider.baseUrl, data)
  const list = (await (await fetch(`${again.url}/api/usage/request-logs?limit=200`)).json()) as {
    data: { state: string; endpoint: string; attempts: number }[]
  }
  const states = Object.groupBy(list.data, ({ state }) => state)
  assert.equal(list.data.length, provider.ledger.length)
  assert.deepEqual([states.completed?.length, states.interrupted?.length], [ANSWERED, OPEN])
  assert.ok(list.data.every(({ endpoint, attempts }) => endpoint === '/toy/speak' && attempts === 1))
})
