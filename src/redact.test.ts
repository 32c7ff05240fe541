// Which text a mask leaves, and that none of two secrets shows the rest of the other.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail } from '../mocks/stand-in.ts'
import { createMask } from './redact.ts'
import { ask, testGateway } from './test-gateway.ts'

test('a secret that another begins with is masked after it, in whatever order they are known (KEEP-01)', () => {
  const [short, long] = ['sk-shared', 'sk-shared/of-beta']
  for (const secrets of [
    [short, long],
    [long, short],
  ]) {
    const mask = createMask(secrets)
    assert.equal(mask(`${short} ${long} ${encodeURIComponent(long)}`), '*** *** ***')
  }
})

test('a provider that echoes a key which begins like another one shows neither to the client (KEEP-02)', async (t) => {
  const secrets = new Map([
    ['alpha', 'sk-shared'],
    ['beta', 'sk-shared-and-the-rest'],
  ])
  const { chat } = await testGateway(t, {
    providers: { alpha: answer(), beta: fail(400, {}, { message: `no such key ${secrets.get('beta')}` }) },
    options: { secrets },
  })
  const { status, json } = await chat(ask('beta/model-b'))
  assert.deepEqual([status, json.error.message], [400, 'no such key ***'])
})
