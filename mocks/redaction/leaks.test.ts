import assert from 'node:assert/strict'
import test from 'node:test'
import { findCredential, findValue, findWord, replaceCredentials, suspectsIn } from './leaks.ts'
import { blank } from './placeholders.ts'

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
  assert.deepEqual(findCredential(`{"key":"${key}"}`), { at: 8, form: 'key of a model provider' })
  assert.equal(findCredential('{"key":"xx-x1x1x1x1x1x1x1x1x1x1x1x1"}'), null)
  assert.equal(findCredential('call_REDACTED_0000000001, user-REDACTED_00001'), null)
})

/** Letters and digits of a key, made here so that no scanner takes this file for a leak. */
const made = (length: number, from = 'a1B2c3D4e5F6g7H8') => from.repeat(9).slice(0, length)
const hex = (length: number) => made(length, '0a1b2c3d4e5f')
const upper = (length: number) => made(length, 'A1B2C3D4')

const credentials: string[] = [
  ...['ghp_', 'gho_', 'github_pat_11'].map((front) => front + made(36)),
  `glpat-${made(20)}`,
  `ATATT3${made(60)}`,
  `xoxb-1234567890-${made(24)}`,
  `https://hooks.slack.com/services/T0${upper(9)}/B0${upper(9)}/${made(24)}`,
  `https://discord.com/api/webhooks/123456789012345678/${made(60)}`,
  `123456789:AA${made(33)}`,
  `npm_${made(36)}`,
  `pypi-AgEIcHlwaS5vcmc${made(40)}`,
  `rubygems_${hex(48)}`,
  `dckr_pat_${made(27)}`,
  `AKIA${upper(16)}`,
  `ASIA${upper(16)}`,
  `AIza${made(35)}`,
  `ya29.${made(40)}`,
  `1//0${made(40)}`,
  `DefaultEndpointsProtocol=https;AccountKey=${made(86)}==`,
  `dop_v1_${hex(64)}`,
  `hvs.${made(24)}`,
  `nvapi-${made(64)}`,
  `r8_${made(37)}`,
  `Authorization: Bearer ${made(30)}`,
  `Authorization: Basic ${made(30)}==`,
  `eyJ${made(20)}.eyJ${made(40)}.${made(43)}`,
  `-----BEGIN RSA PRIVATE KEY-----\n${made(64)}\n-----END RSA PRIVATE KEY-----`,
  `https://bucket.s3.amazonaws.com/a.png?X-Amz-Expires=3600&X-Amz-Signature=${hex(64)}`,
  `https://storage.googleapis.com/a/b?X-Goog-Signature=${hex(64)}`,
  `https://a.blob.core.windows.net/b/c.png?se=2026-11-27&sig=${made(40)}%3D`,
  `{"url":"https://x.example/a?a=1\\u0026access_token=${made(24)}"}`,
  `postgres://clerk:${made(12)}@db.example:5432/fees`,
  `sk-ant-api03-${made(60)}`,
  `whsec_${made(32)}`,
]
for (const text of credentials)
  test(`a credential is detected, and not again after it was replaced: ${text.slice(0, 40)}… (REC-01)`, () => {
    assert.ok(findCredential(`It is ${text} and more`))
    const left = replaceCredentials(`It is ${text} and more`, blank)
    assert.equal(findCredential(left), null, left)
    assert.equal(replaceCredentials(left, blank), left)
    assert.ok(left.startsWith('It is ') && left.endsWith(' and more'))
  })

test('words that resemble a credential are none, and no digest is a suspect', () => {
  for (const text of [
    'sk-learn-pipelines-of-many-steps',
    'Bearer authentication needs a token; Basic internationalization, too',
    'postgres://user:password@localhost/db, https://example.org/a?page=2&key=name',
    'glossary npm_config_user_agent ghp_ AKIA hf_transformers_and_more_words',
    'getElementsByClassNameAndAttribute, a_very_long_name_of_a_function_in_python',
    hex(40),
    '3f2c1a9e-1111-4222-8333-444455556666',
    'chatcmpl-REDACTED_000000000012345',
  ]) {
    assert.equal(findCredential(text), null, text)
    assert.deepEqual(suspectsIn(text), [], text)
  }
})

test('a token without order is a suspect, and only its beginning is shown', () => {
  for (const text of [`use q7Zr2mXw9Lk4Tb8Yc1Vd5 now`, `api_key = "${'q7zr2mxw9lk4tb8yc1vd'}"`])
    assert.deepEqual(
      suspectsIn(text).map(({ start }) => start.toLowerCase()),
      ['q7zr…'],
      text,
    )
})

test('placeholders of redaction do not count as words that are left', () => {
  const words = new Set(['redacted', 'chatcmpl'])
  assert.equal(findWord('{"id":"chatcmpl-REDACTED_000123"}', words), null)
  assert.equal(findWord('Names are redacted.', words), 'redacted')
})
