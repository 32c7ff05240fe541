// Calls that a killed gateway left open appear in traces after the restart.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'
import { collector, seen } from './test-collector.ts'

async function serve(t: TestContext, config: string) {
  const child = spawn(process.execPath, ['src/cli.ts', 'serve', '--config', config], {
    cwd: join(import.meta.dirname, '../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`exit code ${code}: ${said}`)))
    child.stdout.on('data', (text) => {
      said += text
      const found = /listens on ([^\s"]+)/.exec(said)?.[1]
      if (found) resolve(found)
    })
  })
  return { child, url }
}

test('a call that a killed gateway left open appears after the restart in its caller’s trace, marked as interrupted (TRACE-01, TRACE-05)', async (t) => {
  const { url, spans } = await collector(t)
  let arrived = () => {}
  const arrival = new Promise<void>((done) => {
    arrived = done
  })
  const provider = await startMockServer(() => arrived()) // and never answers
  t.after(() => provider.close())
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  writeFileSync(
    config,
    `server: { port: 0 }
data: ${join(directory, 'data')}
telemetry: { endpoint: "${url}" }
providers: { alpha: { dialect: chat, base_url: "${provider.baseUrl}" } }
routes: { auto: { targets: [ { model: alpha/a } ] } }
`,
  )
  const first = await serve(t, config)
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const call = fetch(`${first.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${trace}-00f067aa0ba902b7-01` },
    body: JSON.stringify(ask('auto')),
  })
  call.catch(() => {})
  await arrival
  const exit = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  await exit
  assert.deepEqual(spans(), [])
  await serve(t, config)
  const all = await seen(spans, 2)
  assert.deepEqual(
    all.map(({ trace, kind, error, attributes }) => [
      trace,
      kind,
      error,
      attributes['waybill.state'],
      attributes['waybill.unknown'],
    ]),
    [
      [trace, 2, true, 'interrupted', undefined],
      [trace, 3, true, undefined, true],
    ],
  )
})
