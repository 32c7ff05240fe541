// The status line while the gateway is busy with chats. The gateway runs in a separate process.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { answer, startMockServer } from '../../mocks/test-upstream.ts'
import { startServer } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { bundle, run, SCRIPT } from './test-statusline.ts'

const CHATS_AT_ONCE = 16
const LINES_AT_ONCE = 2
const LINES = 30

test('while the gateway is busy with chats, every status line has text and costs nothing (LINE-04, LINE-05)', async (t) => {
  const directory = temporaryDirectory(t)
  const provider = await startMockServer(answer())
  t.after(() => provider.close())
  const file = join(directory, 'waybill.yaml')
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${directory}
providers: { alpha: { dialect: openai, base_url: "${provider.baseUrl}", key: $ALPHA_KEY } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
`,
  )
  const { url } = await startServer(t, ['serve', '--config', file], { env: { ALPHA_KEY: 'sk-alpha-secret' } })
  for (const command of [
    [process.execPath, await bundle(t)],
    ['/bin/sh', SCRIPT],
  ] as const) {
    let chats = 0
    let left = LINES
    const before = provider.ledger.length
    const chat = async () => {
      for (; left > 0; chats++) await askOnce(url)
    }
    const env = { WAYBILL_URL: url, XDG_CACHE_HOME: directory, NO_COLOR: '1' }
    const draw = async () => {
      while (left-- > 0) {
        const { code, stdout } = await run(command, env, '{"session_id":"load","model":{"id":"auto"}}')
        assert.equal(code, 0)
        assert.notEqual(stdout.trim(), '')
      }
    }
    await Promise.all([
      ...Array.from({ length: CHATS_AT_ONCE }, chat),
      ...Array.from({ length: LINES_AT_ONCE }, draw),
    ])
    assert.ok(chats > 0)
    assert.equal(provider.ledger.length - before, chats)
  }
})

async function askOnce(url: string): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': 'load' },
    body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'where to?' }] }),
  })
  assert.equal(response.status, 200)
  await response.arrayBuffer()
}
