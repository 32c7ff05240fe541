// The process of a stopped gateway really ends, even if npm started the gateway. A line in its log is not enough.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CLI, ENVIRONMENT } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { judgeIdle } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Maximum time until the gateway ends, ms: less than the 30 s of grace for open calls, of which there are none. */
const STOP_MS = 25_000
/** Maximum time until the gateway ends on an idle machine, ms. */
const IDLE_STOP_MS = 4_000

/** Resolves with the address once the gateway listens. */
async function listening(child: ChildProcess): Promise<string> {
  let said = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (part) => (said += part))
  for (;;) {
    const found = /listens on (http:[^\s",:]+:\d+)/.exec(said)
    if (found) return found[1]!
    assert.equal(child.exitCode, null, said)
    await sleep(10)
  }
}

const call = (url: string) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Where do you go?' }] }),
  })

function surroundings(t: TestContext): Record<string, string> {
  const data = temporaryDirectory(t)
  writeFileSync(
    join(data, 'w.yaml'),
    `server: { port: 0 }
providers: { alpha: { dialect: openai, base_url: "http://127.0.0.1:9/v1" } }
routes: { auto: { targets: [ { model: alpha/x } ] } }`,
  )
  return { ...ENVIRONMENT, WAYBILL_DATA: data, WAYBILL_PORT: '0' }
}

for (const [what, args, status] of [
  ['that replays', ['--replay', '-c', `${root}examples/waybill.yaml`], 200],
  ['whose provider is not there', ['-c', 'w.yaml'], 502],
] as const)
  for (const calls of [0, 1])
    test(`a gateway ${what} ends after SIGTERM without waiting for the grace time, after ${calls} calls (LIFE-02)`, async (t) => {
      const env = surroundings(t)
      const child = spawn(process.execPath, [CLI, 'serve', ...args], { env, cwd: env.WAYBILL_DATA! })
      t.after(() => child.kill('SIGKILL'))
      const url = await listening(child)
      for (let n = 0; n < calls; n++) assert.equal((await call(url)).status, status)
      const told = performance.now()
      child.kill('SIGTERM')
      assert.deepEqual(await once(child, 'exit'), [0, null])
      const took = performance.now() - told
      assert.ok(took < STOP_MS, `${took} ms`)
      judgeIdle(t, 'ended after, ms', took, IDLE_STOP_MS)
    })

test("SIGTERM to `npm start` ends the gateway's process", {
  skip: process.platform === 'win32' && 'Windows has no signals',
}, async (t) => {
  const env = surroundings(t)
  // Runs the project's own script on the sources, because the bundle may be out of date.
  const { start } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')).scripts as { start: string }
  const script = start.replace('dist/cli.js', `"${CLI}"`).replace('examples/', `${root}examples/`)
  assert.notEqual(script, start)
  writeFileSync(join(env.WAYBILL_DATA!, 'package.json'), JSON.stringify({ scripts: { start: script } }))
  const npm = spawn('npm', ['start', '--no-update-notifier'], {
    env: {
      ...env,
      PATH: `${dirname(process.execPath)}${delimiter}${env.PATH}`,
      HOME: env.WAYBILL_DATA!,
      NODE_OPTIONS: '',
    },
    cwd: env.WAYBILL_DATA!,
  })
  t.after(() => npm.kill('SIGKILL'))
  const url = await listening(npm)
  assert.equal((await call(url)).status, 200)
  npm.kill('SIGTERM')
  await once(npm, 'exit')
  const isThere = () =>
    fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    )
  await until('the gateway has ended with its parent', async () => !(await isThere()))
})
