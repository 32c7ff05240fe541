// Tests the mock over TLS. Only clients with its authority's certificate trust it, under each of its names.
// Scenarios end connections as they do over plain HTTP.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { test } from 'node:test'
import { clock } from '../../src/shared/clock.ts'
import { certify } from './certificate.ts'
import { createMockProviders } from './create.ts'

const NAMES = ['localhost', '127.0.0.1', '::1', 'mock.example', '2001:db8::1:0:2']

/** Returns the body, or the error's code. */
const ask = (url: string, options: object, body: object): Promise<string> =>
  new Promise((done) => {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-mock-key-of-openai' }
    request(`${url}/openai/v1/chat/completions`, { method: 'POST', headers, ...options }, (answer) => {
      let text = ''
      answer
        .on('data', (piece) => (text += piece))
        .on('end', () => done(text))
        .on('error', ({ code }: NodeJS.ErrnoException) => done(`${code} after ${text.length > 0}`))
    })
      .on('error', ({ code }: NodeJS.ErrnoException) => done(code!))
      .end(JSON.stringify(body))
  })

const chat = (model: string, stream = false) => ({
  model,
  stream,
  messages: [{ role: 'user', content: 'Where do you go?' }],
})

test('the certificate is valid for its names and signed by a self-signed authority', () => {
  const { ca, cert } = certify(NAMES)
  const [leaf, authority] = [new X509Certificate(cert), new X509Certificate(ca)]
  assert.ok(leaf.verify(authority.publicKey))
  assert.ok(leaf.checkIssued(authority))
  assert.ok(authority.verify(authority.publicKey))
  assert.equal(authority.ca, true)
  assert.equal(leaf.ca, false)
  for (const name of ['localhost', 'mock.example']) assert.ok(leaf.checkHost(name), name)
  for (const name of ['127.0.0.1', '::1', '2001:db8::1:0:2']) assert.ok(leaf.checkIP(name), name)
  assert.equal(leaf.checkHost('elsewhere.example'), undefined)
  assert.ok(leaf.validToDate.getTime() > clock.now() && leaf.validFromDate.getTime() < clock.now())
})

test('only clients that trust the authority get answers', async (t) => {
  const tls = certify(['localhost', '127.0.0.1'])
  const mock = await createMockProviders({ tls, name: 'localhost' })
  t.after(mock.close)
  assert.match(mock.url, /^https:\/\/localhost:\d+$/)
  assert.match(mock.baseUrl('openai'), /^https:\/\/localhost:\d+\/openai\/v1$/)
  const { ca } = tls
  assert.match(await ask(mock.url, { ca }, chat('gpt-5-mini')), /"choices"/)
  assert.match(await ask(mock.url.replace('localhost', '127.0.0.1'), { ca }, chat('gpt-5-mini')), /"choices"/)
  assert.match(await ask(mock.url, {}, chat('gpt-5-mini')), /CERT|SIGNED/)
  assert.match(
    await ask(mock.url, { ca: certify(['localhost']).ca }, chat('gpt-5-mini')),
    /CERT|SIGNATURE|SIGNED/,
  )
  assert.equal(mock.entries().length, 2)
})

test('cut answers and reset connections also work over TLS', async (t) => {
  const tls = certify(['127.0.0.1'])
  const mock = await createMockProviders({ tls })
  t.after(mock.close)
  const { ca } = tls
  assert.match(await ask(mock.url, { ca }, chat('scenario-reset')), /^ECONNRESET/)
  assert.match(await ask(mock.url, { ca }, chat('scenario-cut-after-2', true)), /^ECONNRESET after true/)
  assert.match(await ask(mock.url, { ca }, chat('gpt-5-mini')), /"choices"/)
})
