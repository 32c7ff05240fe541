import assert from 'node:assert/strict'
import { createServer, get } from 'node:http'
import { createRequire } from 'node:module'
import net, { type AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import OpenAI from 'openai'
import { type Dispatcher, Pool } from 'undici'
import { clock } from '../../src/shared/clock.ts'
import { pause } from '../../src/test/test-until.ts'
import type { Pace } from '../recording/replay.ts'
import { interceptProviders } from './intercept.ts'

const openai = 'https://api.openai.com'
const chat = (body: object) => ({
  path: '/v1/chat/completions',
  method: 'POST' as const,
  headers: { 'content-type': 'application/json', authorization: 'Bearer anything' },
  body: JSON.stringify({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: 'hello' }],
    stream_options: { include_usage: true },
    ...body,
  }),
})

/** Starts interception and a pool for one test; both end with the test. */
function intercepted(t: TestContext, pace: Pace, origin = openai): Pool {
  const interception = interceptProviders({ pace })
  const pool = new Pool(origin, { connections: 8 })
  t.after(async () => {
    await pool.destroy()
    interception.dispose()
  })
  return pool
}

interface Seen {
  readonly status: number
  readonly times: readonly number[]
  readonly text: string
  readonly error: Error | null
}

/** `Pool.dispatch` with undici's own kind of handler; disconnects after `leaveAfter` chunks. */
function dispatch(
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  leaveAfter = Number.POSITIVE_INFINITY,
): Promise<Seen> {
  const started = clock.monotonic()
  const times: number[] = []
  let status = 0
  let text = ''
  return new Promise((resolve) => {
    pool.dispatch(options, {
      onRequestStart() {},
      onResponseStart(_controller, code) {
        status = code
      },
      onResponseData(controller, chunk) {
        times.push(clock.monotonic() - started)
        text += chunk
        if (times.length === leaveAfter) controller.abort(new Error('the client left'))
      },
      onResponseEnd: () => resolve({ status, times, text, error: null }),
      onResponseError: (_controller, error) => resolve({ status, times, text, error }),
    })
  })
}

test("undici's dispatch receives a stream chunk by chunk, at its pace", async (t) => {
  const { status, times, text, error } = await dispatch(intercepted(t, 'recorded'), chat({ stream: true }))
  assert.equal(error, null)
  assert.equal(status, 200)
  assert.ok(text.endsWith('data: [DONE]\n\n'))
  assert.ok(times.length > 15, `${times.length} chunks`)
  assert.ok(times.at(-1)! - times[0]! > 400, `first after ${times[0]} ms, last after ${times.at(-1)} ms`)
})

test("undici's request receives a stream chunk by chunk", async (t) => {
  const { body, statusCode } = await intercepted(t, 'recorded').request(chat({ stream: true }))
  assert.equal(statusCode, 200)
  const times: number[] = []
  for await (const _ of body) times.push(clock.monotonic())
  assert.ok(times.length > 15)
  assert.ok(times.at(-1)! - times[0]! > 400)
})

for (const [provider, origin, path] of [
  ['groq', 'https://api.groq.com', '/openai/v1/chat/completions'],
  ['openrouter', 'https://openrouter.ai', '/api/v1/chat/completions'],
  ['deepseek', 'https://api.deepseek.com', '/chat/completions'],
] as const)
  test(`requests to ${provider} are intercepted`, async (t) => {
    const pool = intercepted(t, 'none', origin)
    assert.match((await dispatch(pool, { ...chat({ stream: true }), path })).text, /data: \[DONE\]\n\n$/)
    assert.match((await dispatch(pool, { ...chat({}), path })).text, /"chat\.completion"/)
  })

test('a client that leaves during a stream does not disturb other clients', async (t) => {
  const pool = intercepted(t, 'recorded')
  const uncaught: unknown[] = []
  const note = (error: unknown) => uncaught.push(error)
  process.on('uncaughtException', note).on('unhandledRejection', note)
  t.after(() => process.off('uncaughtException', note).off('unhandledRejection', note))

  const left = await Promise.all([1, 2, 3].map((n) => dispatch(pool, chat({ stream: true }), n)))
  assert.deepEqual(
    left.map(({ error, times }) => [error?.message, times.length]),
    [1, 2, 3].map((n) => ['the client left', n]),
  )
  await pause(100)
  assert.deepEqual(uncaught, [])
  assert.equal((await dispatch(pool, chat({}))).status, 200)
})

test('one pool serves many consecutive and concurrent requests', async (t) => {
  const pool = intercepted(t, 'none')
  for (let i = 0; i < 50; i++) assert.equal((await dispatch(pool, chat({ stream: i % 2 === 0 }))).status, 200)
  const atOnce = await Promise.all(
    Array.from({ length: 20 }, (_, i) => dispatch(pool, chat({ stream: i % 2 === 0 }))),
  )
  for (const { status, text } of atOnce) {
    assert.equal(status, 200)
    assert.match(text, /\[DONE\]\n\n$|"chat\.completion"/)
  }
})

test('an official client can read intercepted answers', async (t) => {
  intercepted(t, 'none')
  const client = new OpenAI({ apiKey: 'anything', maxRetries: 0 })
  const ask = { model: 'gpt-4o-mini', messages: [{ role: 'user' as const, content: 'hello' }] }
  assert.match((await client.chat.completions.create(ask)).choices[0]!.message.content!, /recorded answer/)
  let text = ''
  let tokens = 0
  for await (const { choices, usage } of await client.chat.completions.create({
    ...ask,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    text += choices[0]?.delta.content ?? ''
    tokens += usage?.total_tokens ?? 0
  }
  assert.match(text, /Viele Grüße/)
  assert.equal(tokens, 43)
  await assert.rejects(
    client.chat.completions.create({ ...ask, model: 'scenario-429' }),
    OpenAI.RateLimitError,
  )
})

test('a request without a recording gets a 400 that names the nearest recording without the query', async (t) => {
  const pool = intercepted(t, 'none')
  const { status, text } = await dispatch(pool, {
    ...chat({ model: 'scenario-418' }),
    query: { key: 'secret-in-query' },
  })
  const { error } = JSON.parse(text)
  assert.equal(status, 400)
  assert.deepEqual([error.type, error.param, error.code], ['replay_error', null, 'no_recording'])
  assert.match(
    error.message,
    /POST https:\/\/api\.openai\.com\/v1\/chat\/completions with model "scenario-418", stream false/,
  )
  assert.match(
    error.message,
    /nearest is openai\/chat-plain; it differs in scenario "418" \(recorded: "plain"\)/,
  )
  assert.doesNotMatch(text, /secret-in-query/)
})

test('no request reaches the network, regardless of its host and client', async (t) => {
  intercepted(t, 'none')
  for (const url of [
    'https://api.nowhere.invalid/v1/messages',
    'http://nowhere.invalid/',
    'https://192.0.2.1/',
  ])
    assert.equal((await fetch(url)).status, 400)
  const status = await new Promise((resolve) =>
    get('http://nowhere.invalid/path', (answer) => resolve(answer.statusCode)),
  )
  assert.equal(status, 400)
})

test('servers on this machine can be reached as usual', async (t) => {
  const server = createServer((request, response) => response.end(request.url)).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  intercepted(t, 'none')
  for (const host of ['127.0.0.1', 'localhost']) {
    assert.equal(await (await fetch(`http://${host}:${port}/fetched`)).text(), '/fetched')
    const pool = new Pool(`http://${host}:${port}`)
    assert.equal(await (await pool.request({ path: '/pooled', method: 'GET' })).body.text(), '/pooled')
    await pool.close()
  }
})

test('only one interception can be active at a time, and it can be started again', () => {
  const first = interceptProviders()
  assert.throws(() => interceptProviders(), /on already/)
  first.dispose()
  first.dispose()
  interceptProviders().dispose()
})

test('a guard of connections and other interceptors let intercepted calls pass, and refuse all others', async (t) => {
  const { connect } = net.Socket.prototype
  createRequire(import.meta.url)('../../examples/waybill-testing/local.cjs')
  t.after(() => {
    net.Socket.prototype.connect = connect
  })
  const ask = (url: string) =>
    fetch(url).then(
      ({ status }) => status,
      ({ cause }: Error) => (cause as Error).message,
    )
  const providers = interceptProviders({ pace: 'none' })
  assert.equal(await ask(`${openai}/v1/models`), 200)
  const overHttp = await new Promise((done) =>
    get('http://api.openai.com/v1/none', ({ statusCode }) => done(statusCode)),
  )
  assert.equal(overHttp, 400)
  providers.dispose()
  assert.match(String(await ask(`${openai}/v1/models`)), /^a test tried to reach api\.openai\.com; give/)
  const msw = setupServer(http.get(`${openai}/v1/models`, () => HttpResponse.json({ of: 'msw' })))
  msw.listen()
  assert.equal(await ask(`${openai}/v1/models`), 200)
  assert.match(
    String(await ask('https://elsewhere.example/')),
    /^a test tried to reach elsewhere\.example; give/,
  )
  msw.close()
  assert.match(String(await ask('http://192.0.2.7/')), /^a test tried to reach 192\.0\.2\.7; give/)
})

test('fake timers do not stop the waits of the mock', async (t) => {
  const { timers } = t.mock
  timers.enable()
  const providers = interceptProviders({ pace: 'none' })
  t.after(() => providers.dispose())
  providers.answer({ say: { text: 'late' }, wait: 20 })
  const { path, ...init } = chat({})
  assert.match(await (await fetch(openai + path, init)).text(), /late/)
})
