// A key command that hangs is ended after ten seconds, and one run serves all calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, testGateway } from '../test/test-gateway.ts'
import { keyOfCommand } from './key-source.ts'

test('a key command that hangs fails after ten seconds, for all waiting calls', async () => {
  const source = keyOfCommand(['sleep', '60'], 3_600_000, 'pool: key third', Date.now)
  const start = performance.now()
  const calls = await Promise.allSettled(Array.from({ length: 100 }, async () => source.get()))
  for (const call of calls)
    assert.match(
      String((call as PromiseRejectedResult).reason),
      /pool: key third: its command did not end within 10000 ms/,
    )
  assert.ok(performance.now() - start < 200_000, 'not one after the other')
})

test('a key command that ignores SIGTERM is ended after ten seconds, and its calls are refused', async (t) => {
  const { chat } = await testGateway(t, {
    config: `  pool: { dialect: openai, base_url: "http://127.0.0.1:9", keys: [ { name: only, command: [sh, -c, "trap '' TERM; while :; do sleep 1; done"] } ] }`,
  })
  const { status, json } = await chat(ask('pool/m'))
  assert.equal(status, 502)
  assert.match(json.error.message, /key only: its command did not end within 10000 ms/)
})
