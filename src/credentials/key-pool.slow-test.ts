// Many calls over three keys with limits. Reading the headers avoids every 429.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { IS_FULL } from '../test/test-size.ts'
import { limitedProvider } from './test-limited-provider.ts'

const CALLS = IS_FULL ? 10_000 : 2_000
const WORKERS = 24
const SESSIONS = 60

test(`${CALLS} calls over three keys with limits cause no 429 that the headers would have avoided (KEEP-08)`, async (t) => {
  // In each window, more calls arrive than one key may serve.
  const limited = limitedProvider(60, 1_000)
  const pool = await startMockServer(limited.script)
  t.after(() => pool.close())
  const { chat } = await testGateway(t, {
    env: { A: 'sk-pool-key-of-a', B: 'sk-pool-key-of-b', C: 'sk-pool-key-of-c' },
    config: `  pool: { dialect: openai, base_url: "${pool.baseUrl}", keys: [ { name: a, key: $A }, { name: b, key: $B }, { name: c, key: $C } ] }
routes: { auto: { targets: [ { model: pool/m } ] } }`,
  })
  let [n, served, waited, moved] = [0, 0, 0, 0]
  const worker = async () => {
    while (n < CALLS) {
      const session = `s${n++ % SESSIONS}`
      for (;;) {
        const { status, headers } = await chat(ask('auto', { user: session }), {
          'x-gateway-session-id': session,
        })
        if (status === 200) {
          served++
          if (headers.get('x-gateway-lossy')) moved++
          break
        }
        assert.equal(status, 429)
        waited++
        await sleep(Number(headers.get('retry-after')) * 1_000)
      }
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, worker))
  const each = [...limited.requests].map(([key, count]) => `${key.at(-1)} ${count}`).join(', ')
  t.diagnostic(
    `${served} calls served (${each}); 429 of the provider: ${limited.refused()}; refused here before they were sent: ${waited}; moves of a session: ${moved}`,
  )
  assert.equal(served, CALLS)
  assert.equal(limited.refused(), 0)
})
