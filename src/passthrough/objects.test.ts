// Files and batches of two gateway keys at providers that do not know these keys. Each key reaches only its
// own objects.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { useClock } from '../shared/clock.ts'
import { manualClock } from '../shared/test-clock.ts'
import type { TestGateway } from '../test/test-gateway.ts'
import { gatewayTo, replyWith, startProvider, type TestProvider } from './test-provider.ts'

const KEYS = { alice: 'alice-key-0123456789', bob: 'bob-key-01234567890', root: 'root-key-0123456789' }
type Who = keyof typeof KEYS
const digestOf = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
const CONFIG = `passthrough: [files, batches, audio]
keys:
${Object.entries(KEYS)
  .map(
    ([name, key]) =>
      `  - { name: ${name}, role: ${name === 'root' ? 'admin' : 'client'}, digest: "${digestOf(key)}" }`,
  )
  .join('\n')}`

/**
 * Starts a provider with numbered files and batches. The provider shows all of them to every caller, because
 * all callers share one account.
 */
async function startKeeper(t: TestContext): Promise<TestProvider & { batch: Record<string, unknown> }> {
  const files: Record<string, unknown>[] = []
  const state = { batch: {} as Record<string, unknown> }
  const provider = await startProvider(t, (response, arrived) => {
    const { method, url, headers } = arrived
    const path = url.replace(/\?.*/, '')
    const query = new URLSearchParams(url.slice(path.length))
    const anthropic = headers['anthropic-version'] !== undefined
    const reply = (body: unknown, status = 200, more = {}) => replyWith(body, status, more)(response, arrived)
    if (path === '/upload/v1beta/files' && !query.has('upload_id')) {
      const address = `https://google.invalid/upload/v1beta/files?upload_id=up-${files.length}&upload_protocol=resumable`
      return reply('', 200, { 'x-goog-upload-url': address, 'x-goog-upload-status': 'active' })
    }
    if (path === '/upload/v1beta/files') {
      const file = {
        name: `files/g${files.length}abcdef`,
        uri: `https://google.invalid/v1beta/files/g${files.length}abcdef`,
      }
      files.push(file)
      return reply({ file }, 200, { 'x-goog-upload-status': 'final' })
    }
    if (path === '/v1/files' && method === 'POST') {
      const file = { id: `${anthropic ? 'file_' : 'file-'}n${files.length}abcdef`, object: 'file' }
      files.push(file)
      return reply(file)
    }
    if (path === '/v1/files') {
      const from = files.findIndex(({ id }) => id === (query.get('after') ?? query.get('after_id'))) + 1
      const data = files.slice(from, from + Number(query.get('limit') ?? 100))
      return reply({
        data,
        has_more: from + data.length < files.length,
        first_id: data[0]?.id,
        last_id: data.at(-1)?.id,
      })
    }
    if (path === '/v1beta/files') return reply({ files: files.filter(({ name }) => name) })
    if (path === '/v1/messages/batches' && method === 'POST')
      return reply({ id: 'msgbatch_1abcdef', processing_status: 'in_progress', results_url: null })
    if (path === '/v1/messages/batches/msgbatch_1abcdef/results')
      return reply(String(state.batch.results ?? ''), 200, { 'content-type': 'application/x-jsonl' })
    if (path.startsWith('/v1/messages/batches'))
      return reply({
        id: 'msgbatch_1abcdef',
        processing_status: 'ended',
        results_url: 'https://api.invalid/v1/messages/batches/msgbatch_1abcdef/results',
      })
    if (path === '/v1/batches' && method === 'POST')
      return reply({ id: 'batch_1abcdef', status: 'validating' })
    if (path.startsWith('/v1/batches/')) return reply({ id: 'batch_1abcdef', ...state.batch })
    if (path === '/v1/batches') return reply({ data: [{ id: 'batch_1abcdef' }], has_more: false })
    if (method === 'DELETE') return reply({ deleted: true })
    return reply('the content', 200, { 'content-type': 'text/plain' })
  })
  return Object.assign(provider, state)
}

interface Place {
  readonly gateway: TestGateway
  readonly provider: Awaited<ReturnType<typeof startKeeper>>
  as(who: Who, path: string, init?: RequestInit): ReturnType<TestGateway['get']>
}

async function start(t: TestContext, before?: Place): Promise<Place> {
  const provider = before?.provider ?? (await startKeeper(t))
  const { origin } = provider
  const gateway = await gatewayTo(
    t,
    {
      openai: { dialect: 'openai', origin },
      anthropic: { dialect: 'messages', origin },
      google: { dialect: 'gemini', origin },
    },
    CONFIG,
    before?.gateway.data,
  )
  return {
    ...{ gateway, provider },
    as: (who, path, init = {}) =>
      gateway.get(path, {
        ...init,
        headers: { ...(init.headers as object), authorization: `Bearer ${KEYS[who]}` },
      }),
  }
}

const ANTHROPIC = { 'anthropic-version': '2023-06-01' }
const JSON_TYPE = { 'content-type': 'application/json' }
const FORM = { 'content-type': 'multipart/form-data; boundary=b' }
const upload = (content: string) => ({
  method: 'POST',
  headers: FORM,
  body: `--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n${content}\r\n--b--\r\n`,
})

/** Creates one object of each kind for Alice. */
async function alicesObjects({ as }: Place) {
  const file = (await as('alice', '/v1/files', upload('{}'))).json.id as string
  const message = (await as('alice', '/v1/files', { ...upload('{}'), headers: { ...FORM, ...ANTHROPIC } }))
    .json.id as string
  const begun = await as('alice', '/upload/v1beta/files', {
    method: 'POST',
    headers: { 'x-goog-upload-protocol': 'resumable' },
  })
  const address = new URL(begun.headers.get('x-goog-upload-url')!)
  const part = `${address.pathname}${address.search}`
  const google = (await as('alice', part, { method: 'POST', body: 'bytes' })).json.file.name.slice(
    'files/'.length,
  ) as string
  const batch = (
    await as('alice', '/v1/batches', {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ input_file_id: file, endpoint: '/v1/chat/completions' }),
    })
  ).json.id as string
  const messages = (
    await as('alice', '/v1/messages/batches', {
      method: 'POST',
      headers: { ...JSON_TYPE, ...ANTHROPIC },
      body: '{"requests":[]}',
    })
  ).json.id as string
  return { file, message, google, batch, messages, part }
}

test('a key can reach its own objects, and every part of an upload goes through the gateway', async (t) => {
  const place = await start(t)
  const { file, message, google, batch, messages, part } = await alicesObjects(place)
  assert.match(part, /^\/upload\/v1beta\/files\?upload_id=up-2&upload_protocol=resumable&waybill_upload=/)
  for (const [path, headers] of [
    [`/v1/files/${file}`, {}],
    [`/v1/files/${file}/content`, {}],
    [`/v1/files/${message}`, ANTHROPIC],
    [`/v1beta/files/${google}`, {}],
    [`/v1/batches/${batch}`, {}],
    [`/v1/messages/batches/${messages}`, ANTHROPIC],
  ] as const)
    assert.equal((await place.as('alice', path, { headers })).status, 200, path)
  const own = async (who: Who) =>
    (await place.as(who, '/v1/files')).json.data.map(({ id }: any) => id).filter(Boolean)
  assert.deepEqual(await own('alice'), [file, message])
  assert.deepEqual(await own('bob'), [])
  assert.deepEqual(await own('root'), [file, message])
})

test("an upload part sent to the gateway's address for it needs no key, and the token in the address opens nothing else", async (t) => {
  const place = await start(t)
  const { gateway, provider } = place
  const begin = async (who: 'alice' | 'bob') => {
    const { headers } = await place.as(who, '/upload/v1beta/files', { method: 'POST' })
    return new URL(headers.get('x-goog-upload-url')!)
  }
  const alices = await begin('alice')
  await place.as('alice', '/v1/files', upload('{}')) // so that the provider numbers the next upload differently
  const bobs = await begin('bob')
  const [id, others] = [alices, bobs].map((each) => each.searchParams.get('upload_id'))
  const token = alices.searchParams.get('waybill_upload')!
  const before = provider.arrived.length
  for (const [path, expected] of [
    [`/upload/v1beta/files?upload_id=${id}`, 401],
    [`/upload/v1beta/files?upload_id=${id}&waybill_upload=`, 401],
    [`/upload/v1beta/files?upload_id=${id}&waybill_upload=${token.slice(1)}`, 401],
    [`/upload/v1beta/files?upload_id=${id}&waybill_upload=${bobs.searchParams.get('waybill_upload')}`, 401],
    [`/upload/v1beta/files?upload_id=${others}&waybill_upload=${token}`, 401],
    [`/upload/v1beta/files?upload_id=${id}&upload_id=${others}&waybill_upload=${token}`, 401],
    [`/upload/v1beta/files?waybill_upload=${token}`, 401],
    [`/v1beta/files?upload_id=${id}&waybill_upload=${token}`, 401],
    [`/api/usage/request-logs?upload_id=${id}&waybill_upload=${token}`, 401],
  ] as const) {
    const method = path.startsWith('/upload/') ? 'POST' : 'GET'
    assert.equal((await gateway.get(path, { method })).status, expected, path)
  }
  const twice = await place.as('bob', `${bobs.pathname}${bobs.search}&upload_id=${id}`, { method: 'POST' })
  assert.deepEqual([twice.status, twice.json.error.message], [400, 'upload_id: may appear only once.'])
  assert.equal(provider.arrived.length, before)
  const made = await gateway.get(`${alices.pathname}${alices.search}`, { method: 'POST', body: 'bytes' })
  assert.equal(made.status, 200)
  assert.equal(provider.arrived.at(-1)!.url, `/upload/v1beta/files?upload_id=${id}&upload_protocol=resumable`)
  const { name } = made.json.file
  assert.equal((await place.as('alice', `/v1beta/${name}`)).status, 200)
  assert.equal((await place.as('bob', `/v1beta/${name}`)).status, 404)
})

// `ownership.test.ts` has the places where a body names an object.
test("a client's key cannot reach another key's objects by their paths, pieces and uploads (PASS-03)", async (t) => {
  const place = await start(t)
  const { file, message, google, batch, messages, part } = await alicesObjects(place)
  const before = place.provider.arrived.length
  const body = (json: object) => ({ method: 'POST', headers: JSON_TYPE, body: JSON.stringify(json) })
  const escaped = file.replace('f', '\\u0066').replace('l', '\\u006c')
  const cut = 65_536 - upload('').body.indexOf('\r\n\r\n\r\n') - 8 // the id crosses the end of the first piece
  const ways: Record<string, readonly [string, RequestInit?]> = {
    'reads a part of its content': [`/v1/files/${file}/content`, { headers: { range: 'bytes=0-1' } }],
    'writes its id with an encoded character': [`/v1/files/${file.replace('-', '%2D')}`],
    'encodes it twice': [`/v1/files/${file.replace('-', '%252D')}`],
    'adds a slash': [`/v1/files/${file}/`],
    'goes through a folder': [`/v1/files/x%2f..%2f${file}`],
    'adds a query': [`/v1/files/${file}?key_name=alice`],
    'deletes it': [`/v1/files/${file}`, { method: 'DELETE' }],
    'asks as a client of Anthropic': [`/v1/files/${file}`, { headers: ANTHROPIC }],
    'reads a file of Anthropic': [`/v1/files/${message}`, { headers: ANTHROPIC }],
    'reads it as a client of OpenAI': [`/v1/files/${message}`],
    'downloads it': [`/v1beta/files/${google}:download?alt=media`],
    'goes on with an upload': [part, { method: 'POST', body: 'other bytes' }],
    'cancels a batch': [`/v1/batches/${batch}/cancel`, { method: 'POST' }],
    'hides the file of a batch behind 64 KiB': [
      '/v1/batches',
      body({ metadata: 'x'.repeat(70_000), input_file_id: file }),
    ],
    'reads a batch of Anthropic': [`/v1/messages/batches/${messages}`, { headers: ANTHROPIC }],
    'reads its results': [`/v1/messages/batches/${messages}/results`, { headers: ANTHROPIC }],
    'deletes it there': [`/v1/messages/batches/${messages}`, { method: 'DELETE', headers: ANTHROPIC }],
    'names it across two pieces': ['/v1/files', upload(`${'x'.repeat(cut)}${file}"${'y'.repeat(200_000)}`)],
    'names it late': ['/v1/files', upload(`${'x'.repeat(900_000)}${escaped}`)],
  }
  for (const [way, [path, init]] of Object.entries(ways)) {
    const { status, text } = await place.as('bob', path, init)
    assert.ok(status === 404 || (status === 400 && way.includes('64 KiB')), `${way}: ${status} ${text}`)
    assert.ok(!text.includes('the content'), way)
  }
  const reached = place.provider.arrived.slice(before).map(({ method, url }) => `${method} ${url}`)
  assert.deepEqual(reached, [], 'nothing of it reached the provider whole')
  const lists = ['/v1/files', '/v1/files?limit=1', '/v1/batches', '/v1beta/files', '/v1/files?after=nothing']
  for (const path of lists) {
    const { status, json } = await place.as('bob', path)
    assert.deepEqual([status, json.data ?? json.files], [200, []], path)
    assert.ok(!/alice|abcdef/.test(JSON.stringify(json)), path)
  }
})

const batchRecord = async ({ as }: Place, path: string) =>
  (await as('root', '/api/usage/request-logs')).json.data.find(
    ({ endpoint, method }: any) => endpoint === path && method === 'POST',
  )

test('a batch stays open, even across a restart, until it is fetched after its end and priced; only its own key can read the results (PASS-04)', async (t) => {
  const first = await start(t)
  const { batch } = await alicesObjects(first)
  const manual = manualClock()
  const leaveClock = useClock(manual)
  const before = manual.now()
  await manual.during(first.gateway.gateway.close(3_600_000))
  assert.ok(manual.now() - before < 3_600_000, 'the end of the gateway does not wait for the batch')
  leaveClock()
  const place = await start(t, first)
  const open = await batchRecord(place, '/v1/batches')
  assert.deepEqual([open.completed_at, open.state, open.objects], [null, 'streaming', [batch]])
  Object.assign(place.provider.batch, { status: 'in_progress' })
  await place.as('alice', `/v1/batches/${batch}`)
  assert.equal((await batchRecord(place, '/v1/batches')).completed_at, null)
  Object.assign(place.provider.batch, {
    ...{ status: 'completed', output_file_id: 'file-results1', error_file_id: null, model: 'gpt-5.4' },
    ...{
      request_counts: { total: 2, completed: 2 },
      usage: { input_tokens: 2_000_000, output_tokens: 1_000_000 },
    },
  })
  await place.as('root', `/v1/batches/${batch}`)
  const closed = await batchRecord(place, '/v1/batches')
  assert.deepEqual(
    [closed.state, closed.tokens.input, closed.tokens.output],
    ['completed', 2_000_000, 1_000_000],
  )
  assert.equal(closed.response_model, 'gpt-5.4')
  assert.deepEqual(closed.objects, [batch, 'file-results1'])
  assert.equal((await place.as('alice', '/v1/files/file-results1/content')).status, 200)
  assert.equal((await place.as('bob', '/v1/files/file-results1/content')).status, 404)
})

test('Anthropic batch results are fetched through the gateway, and each line adds to the price', async (t) => {
  const place = await start(t)
  const { messages } = await alicesObjects(place)
  const line = (usage: object) =>
    JSON.stringify({
      custom_id: 'a',
      result: { type: 'succeeded', message: { model: 'claude-sonnet-4-5', usage } },
    })
  Object.assign(place.provider.batch, {
    results: `${line({ input_tokens: 10, output_tokens: 5 })}\n${line({ input_tokens: 1, output_tokens: 2 })}\n{"result":{"type":"expired"}}\n`,
  })
  const { json } = await place.as('alice', `/v1/messages/batches/${messages}`, { headers: ANTHROPIC })
  assert.equal(json.results_url, `${place.gateway.url}/v1/messages/batches/${messages}/results`)
  const behindTls = { ...ANTHROPIC, 'x-forwarded-proto': 'https' }
  const proxied = await place.as('alice', `/v1/messages/batches/${messages}`, { headers: behindTls })
  assert.equal(proxied.json.results_url, json.results_url.replace('http:', 'https:'))
  assert.equal((await batchRecord(place, '/v1/messages/batches')).completed_at, null)
  await place.as('alice', new URL(json.results_url).pathname, { headers: ANTHROPIC })
  const closed = await batchRecord(place, '/v1/messages/batches')
  assert.deepEqual([closed.state, closed.tokens.input, closed.tokens.output], ['completed', 11, 7])
  assert.equal(closed.service_tier, 'batch')
})
