// Which text a mask leaves, and that none of two secrets shows the rest of the other.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail } from '../mocks/stand-in.ts'
import { createMask, maskJson } from './redact.ts'
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

test('an error that is too large to be read, or no JSON, hides no secret behind escapes (KEEP-02)', () => {
  const mask = createMask(['sk-secret/key'])
  const escaped = 'sk-\\u0073ecret\\/key'
  const large = `{"message":"${escaped}","x":[${'[],'.repeat(600_000)}[]]}`
  for (const text of [large, `not JSON: ${escaped}`, `{"message":"${escaped}"`]) {
    const shown = maskJson(text, mask)
    assert.ok(shown.includes('***'))
    assert.doesNotMatch(shown, /ecret/)
  }
  const harmless = 'a \\u0041 that stays'
  assert.equal(maskJson(harmless, mask), harmless)
})
