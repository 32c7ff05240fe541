import assert from 'node:assert/strict'
import test from 'node:test'
import { findCredential, findValue, findWord } from './leaks.ts'

const secret = 'pa"ss/wörd?&+key'
const values = new Map([
  ['another-secret', 'header cookie'],
  [secret, 'query key'],
])
const base64 = (before: string) => Buffer.from(`${before}${secret}!`).toString('base64')

const forms: [form: string, written: string][] = [
  ['as it is', secret],
  ['URL-encoded', encodeURIComponent(secret)],
  ['JSON-escaped', JSON.stringify(secret)],
  ['in hexadecimal', Buffer.from(secret).toString('hex')],
  ['in base64', base64('')],
  ['in base64', base64('u')],
  ['in base64', base64('us')],
  ['in base64', base64('use')],
  ['in base64', Buffer.from(`u:${secret}`).toString('base64url')],
]
for (const [form, written] of forms)
  test(`a secret is detected ${form}, and its place is reported: ${written.slice(0, 12)}…`, () => {
    assert.equal(findValue(`before ${written} after`, values), `query key, ${form}`)
    assert.equal(findValue(`before ${written.slice(0, written.length / 2)} after`, values), null)
  })

test('planted words are detected in upper and lower case, but only as whole words', () => {
  const words = new Set(['lighthouse'])
  assert.ok(findWord('{"content":"The Lighthouse"}', words))
  assert.ok(!findWord('{"content":"lighthouses"}', words))
})

test('a value that looks like a credential is detected, but its redacted form is not', () => {
  const key = `sk-${'a1'.repeat(12)}`
  assert.equal(findCredential(`{"key":"${key}"}`), 8)
  assert.equal(findCredential('{"key":"xx-x1x1x1x1x1x1x1x1x1x1x1x1"}'), null)
  assert.equal(findCredential('call_REDACTED_0000000001, user-REDACTED_00001'), null)
})
