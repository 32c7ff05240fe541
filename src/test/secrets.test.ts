// KEEP-01 and KEEP-02 from outside: a real process with planted secrets. Checks everything that it outputs
// and everything that it leaves on disk.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { answer, chunk, fail, type Script, startMockServer, stream } from '../../mocks/test-upstream.ts'
import { READS } from '../gateway/endpoints.ts'
import { CLI, ENVIRONMENT } from './test-cli.ts'
import { ask, temporaryDirectory } from './test-gateway.ts'
import { pause } from './test-until.ts'

const CLIENT = 'wb_client-secret+/0123456789'
const WRONG = 'wb_wrong-secret+/0123456789'
const PROVIDER = 'sk-provider-secret+/0123456789'
const IN_URL = 'sk-in-url-secret0123456789'

/** A secret in each form in which it could leak. */
const forms = [CLIENT, WRONG, PROVIDER, IN_URL].flatMap((secret) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
  Buffer.from(secret).toString('hex'),
  JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
])
const assertClean = (text: string, where: string) => {
  for (const form of forms) assert.ok(!text.includes(form), `${where} holds ${form}`)
}

/** Ways in which a provider may return the key that it received. */
const ECHOES: readonly (readonly [string, Script, object])[] = [
  ['answer', answer(), {}],
  [
    'error',
    fail(400, { 'x-request-id': PROVIDER }, { message: `no such key ${PROVIDER}`, code: PROVIDER }),
    {},
  ],
  ['401', fail(401, {}, { message: `Incorrect API key ${PROVIDER}` }), {}],
  [
    '500 with every detail',
    fail(500, {}, { message: `Bearer ${PROVIDER}`, type: PROVIDER, param: PROVIDER }),
    {},
  ],
  ['HTML', (response) => void response.writeHead(403).end(`<p>${PROVIDER}</p>`), {}],
  ['no HTTP', (response) => void response.socket!.end(`${PROVIDER}\r\n\r\n`), {}],
  [
    'error event',
    stream(`data: {"error":{"message":"${PROVIDER}","code":"${PROVIDER}"}}\n\n`),
    { stream: true },
  ],
  [
    'error event in the middle',
    stream(chunk({ content: 'a' }), `data: {"error":{"message":"${PROVIDER}"}}\n\n`),
    { stream: true },
  ],
  ['cut stream', stream(chunk({ content: 'a' })), { stream: true }],
]

test('planted secrets appear in no answer, header, error, read, file or output (KEEP-01, KEEP-02)', async (t) => {
  const provider = await startMockServer()
  t.after(() => provider.close())
  const data = temporaryDirectory(t)
  const config = join(data, 'waybill.yaml')
  const digest = createHash('sha256').update(CLIENT).digest('hex')
  writeFileSync(
    config,
    `
server: { port: 0 }
data: ${data}
cache: { enabled: true }
resilience: { cooldown: 0s, retries: 0 }
providers: { alpha: { dialect: openai, base_url: "${provider.baseUrl}", key: $ALPHA_KEY } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: ann, role: admin, digest: "sha256:${digest}" } ]`,
  )
  const child = spawn(process.execPath, [CLI, 'serve', '-c', config], {
    env: { ...ENVIRONMENT, ALPHA_KEY: PROVIDER },
  })
  t.after(() => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (part) => (printed += part))
  child.stderr.on('data', (part) => (printed += part))
  const listening = /listens on (http[^\s"]+)/
  while (!listening.test(printed)) {
    assert.equal(child.exitCode, null, printed)
    await pause(10)
  }
  const url = listening.exec(printed)![1]!

  let heard = 0
  /** Sends a request, checks that the whole answer contains no secret, and returns its body. */
  const say = async (where: string, path: string, headers: Record<string, string>, body?: object) => {
    const response = await fetch(url + path, {
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    let text = ''
    try {
      for await (const part of response.body ?? []) text += Buffer.from(part).toString()
    } catch {} // a stream that is cut says so by its end
    assertClean(text, `the answer to ${where}`)
    assertClean(JSON.stringify([...response.headers]), `the response headers of ${where}`)
    heard++
    return { status: response.status, text }
  }
  const key = { authorization: `Bearer ${CLIENT}` }
  const live = '/v1/chat/completions'

  for (const [where, script, more] of ECHOES) {
    provider.script = script
    const request = { ...more, user: where } // one of its own, so that no other row's answer is a hit
    for (let n = 0; n < 2; n++) await say(where, live, key, ask('auto', request))
    await say(where, live, { 'x-api-key': CLIENT }, ask('alpha/other', request))
  }
  const refused = async (status: number, ...request: Parameters<typeof say>) =>
    assert.equal((await say(...request)).status, status, request[0])
  await refused(401, 'a wrong key', live, { authorization: `Bearer ${WRONG}` }, ask('auto'))
  await refused(401, 'a wrong key', live, { 'x-api-key': WRONG }, ask('auto'))
  await refused(400, 'a key in the URL', `${live}?api_key=${IN_URL}`, key, ask('auto'))
  await refused(400, 'a key in the URL', `/api/usage/request-logs?access_token=${IN_URL}`, {})
  await refused(400, 'a key as a filter', `/api/usage/request-logs?since=${IN_URL}`, key)
  await refused(400, 'a key behind another name', `/v1beta/models?auth=${IN_URL}`, key)
  await refused(404, 'a key as a path', `/api/usage/request-logs/${IN_URL}`, key)

  const { data: calls } = JSON.parse((await say('the log', '/api/usage/request-logs?limit=200', key)).text)
  assert.ok(calls.length >= 3 * ECHOES.length)
  for (const { id } of calls) await say('a record', `/api/usage/request-logs/${id}`, key)
  for (const { path } of READS) {
    await say(path, path.replace('*', 'auto'), key)
    await say(path, `${path.replace('*', 'auto')}?model=auto`, key)
  }
  assert.ok(heard > 60)

  const files = readdirSync(data, { recursive: true, encoding: 'utf8' })
    .map((name) => join(data, name))
    .filter((file) => statSync(file).isFile())
  assert.ok(files.some((file) => file.endsWith('.db-wal') && statSync(file).size > 0))
  for (const file of files) assertClean(readFileSync(file, 'latin1'), file)
  child.kill('SIGTERM')
  await once(child, 'exit')
  assertClean(printed, 'what is printed')
  assertClean(readFileSync(join(data, 'waybill.db'), 'latin1'), 'the database after its end')

  assert.equal(provider.ledger.length, 3 * ECHOES.length - 1, 'all but one hit')
  for (const { headers, text, path } of provider.ledger) {
    assert.equal(headers.authorization, `Bearer ${PROVIDER}`)
    const sent = JSON.stringify({ ...headers, authorization: '' }) + text + path
    assert.ok(!/wb_|in-url|secret/.test(sent), `the provider was told ${sent}`)
  }
})
