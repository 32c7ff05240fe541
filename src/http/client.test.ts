// The program that made a call, from its User-Agent. The name of the program is recorded within bounds and
// without secrets (KEEP-01).
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { ask, providerKey, testGateway } from '../test/test-gateway.ts'
import { createClientOf } from './client.ts'

const OWN_KEY = 'the-own-key-of-ann'
const digest = createHash('sha256').update(OWN_KEY).digest('hex')
const CONFIG = `
keys: [ { name: ann, role: client, digest: "sha256:${digest}" } ]
routes: { auto: { targets: [ { model: alpha/model-a } ] } }`

const RANDOM = 'aB3dE5gH7jK9mN1pQ3sT5vW7'

const ROWS: readonly (readonly [sent: string | null, client: string | null])[] = [
  ['claude-cli/2.1.330 (external, cli)', 'claude-cli/2.1.330 (external, cli)'],
  [
    'codex_cli_rs/0.169.0 (Ubuntu 24.4.0; x86_64) xterm-256color',
    'codex_cli_rs/0.169.0 (Ubuntu 24.4.0; x86_64) xterm-256color',
  ],
  [
    'GeminiCLI/0.61.0/gemini-2.5-pro-preview-09-2026 (linux; x64)',
    'GeminiCLI/0.61.0/gemini-2.5-pro-preview-09-2026 (linux; x64)',
  ],
  ['skaffold/v2.16.1 sk-learn-client/1.0', 'skaffold/v2.16.1 sk-learn-client/1.0'],
  [null, null],
  ['   ', null],
  ['tool\u0085\u009b2J\ttail', 'tool 2J tail'],
  ['Müller/1 \u202egnp', 'Müller/1  gnp'],
  ['x'.repeat(300), 'x'.repeat(128)],
  [`${'x'.repeat(127)}\u{1f600}`, 'x'.repeat(127)],
  [`${'y '.repeat(62)}${OWN_KEY}`, `${'y '.repeat(62)}***`],
  [`a/1 key=${OWN_KEY}`, 'a/1 key=***'],
  [`b/1 ${providerKey('alpha')}`, 'b/1 ***'],
  [`c/1 (${RANDOM})`, 'c/1 (***)'],
  ['d/1 sk-proj-abcdefghijklmnopqrst', 'd/1 ***'],
  ['e/1 wb_abcdefghijklmnop-qrstuv_wx', 'e/1 ***'],
  [`f/1 ${'z'.repeat(3_000)}${OWN_KEY}`, `f/1 ${'z'.repeat(124)}`],
]

/** Returns a header's bytes as one character each. */
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

test('a call’s client is recorded in shortened form, without secrets or control characters', async (t) => {
  const gateway = await testGateway(t, { config: CONFIG })
  const as = { authorization: `Bearer ${OWN_KEY}` }
  for (const [sent, client] of ROWS) {
    const call = request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        ...as,
        'content-type': 'application/json',
        ...(sent !== null && { 'user-agent': bytesOf(sent) }),
      },
    })
    call.end(Buffer.from(JSON.stringify(ask('auto')))) // bytes, because a text would be encoded together with the headers
    const [response] = await once(call, 'response')
    response.resume()
    const id = response.headers['x-gateway-request-id']
    const record = (await gateway.get(`/api/usage/request-logs/${id}`, { headers: as })).json
    assert.equal(record.client, client, JSON.stringify(sent))
    if (client === null) continue
    const list = await gateway.get(`/api/usage/request-logs?client=${encodeURIComponent(client)}`, {
      headers: as,
    })
    assert.equal(list.json.data[0].id, id)
  }
})

test("a client's name is parsed only once, regardless of the number of earlier clients", () => {
  let reads = 0
  const clientOf = createClientOf((text) => {
    reads++
    return text
  })
  for (let n = 0; n < 2_000; n++) clientOf({ 'user-agent': `tool-${n}/1` })
  reads = 0
  for (let n = 0; n < 10; n++) assert.equal(clientOf({ 'user-agent': 'the-newest/1' }), 'the-newest/1')
  assert.equal(reads, 1)
})
