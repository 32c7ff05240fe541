// Tests that concurrent tests on one mock see and change only their own context, over real sockets.
import assert from 'node:assert/strict'
import test from 'node:test'
import { IS_FULL } from '../../src/test/test-size.ts'
import type { MockServerContext } from './create.ts'
import { interceptProviders } from './intercept.ts'
import { ask, chatBody, mockFor } from './test-mock.ts'

type Way = 'base URL' | 'header' | 'key'

/** Sends a call of a test into the test's context, in one of three ways. */
function send(mock: Awaited<ReturnType<typeof mockFor>>, own: MockServerContext, way: Way, body: object) {
  const base = way === 'base URL' ? own.baseUrl('openai') : mock.baseUrl('openai')
  const key = way === 'key' ? own.key('openai') : mock.key('openai')
  return fetch(`${base}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(way === 'header' && own.headers) },
    body: JSON.stringify(body),
  })
}

const contentOf = async (response: Response): Promise<string> =>
  ((await response.json()) as any).choices[0].message.content

const TESTS = IS_FULL ? 200 : 50

test('each of many concurrent tests has its own answers, order, gate and ledger', async (t) => {
  const mock = await mockFor(t)
  const ways: Way[] = ['base URL', 'header', 'key']
  await Promise.all(
    Array.from({ length: TESTS }, async (_, n) => {
      const own = mock.context(`test ${n} / of all`)
      const way = ways[n % 3]!
      own.answer([
        { say: { text: `first of ${n}` } },
        { say: { text: `second of ${n}` } },
        { events: [{ data: { n } }, { gate: 'same name' }, { data: '[DONE]' }] },
      ])
      for (const turn of ['first', 'second'])
        assert.equal(await contentOf(await send(mock, own, way, chatBody('m'))), `${turn} of ${n}`)
      const stream = await send(mock, own, way, chatBody('m', { stream: true }))
      const reader = stream.body!.getReader()
      assert.equal(Buffer.from((await reader.read()).value!).toString(), `data: {"n":${n}}\n\n`)
      own.release('same name')
      assert.equal(Buffer.from((await reader.read()).value!).toString(), 'data: [DONE]\n\n')
      await reader.read()
      await own.settled()
      const entries = own.entries()
      assert.deepEqual(
        entries.map((entry) => [entry.n, entry.credential, entry.path, entry.problems]),
        [1, 2, 3].map((nth) => [nth, 'match', '/openai/v1/chat/completions', []]),
      )
      own.clear()
      assert.deepEqual(own.entries(), [])
    }),
  )
  assert.deepEqual(mock.entries(), [])
  assert.equal((await ask(mock, chatBody('m'))).status, 200)
  assert.equal(mock.entries().length, 1)
})

test("clearing one test's context releases only its own held answers and does not affect other tests", async (t) => {
  const mock = await mockFor(t)
  const [one, two] = [mock.context('one'), mock.context('two')]
  for (const own of [one, two]) own.answer({ events: [{ data: 1 }, { gate: 'g' }, { data: 2 }] })
  const body = chatBody('m', { stream: true })
  const [first, second] = await Promise.all([one, two].map((own) => send(mock, own, 'base URL', body)))
  mock.clear()
  one.clear()
  assert.match(await first!.text(), /data: 2/)
  assert.equal(two.entries().length, 1)
  assert.equal(two.entries()[0]!.answer.complete, false)
  two.release('g')
  assert.match(await second!.text(), /data: 2/)
})

test('a test that ends during a stream leaves nothing for a later test with the same name', async (t) => {
  const mock = await mockFor(t)
  const own = mock.context('again')
  own.answer({ events: [{ data: 1 }, { gate: 'never' }] })
  const left = new AbortController()
  const response = await fetch(`${own.baseUrl('openai')}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.key('openai')}` },
    body: JSON.stringify(chatBody('m', { stream: true })),
    signal: left.signal,
  })
  await response.body!.getReader().read()
  left.abort()
  await own.settled()
  assert.notEqual(own.entries()[0]!.peer_left_at, null)
  own.clear()
  assert.match(await contentOf(await send(mock, own, 'header', chatBody('m'))), /recorded answer/)
  assert.equal(own.entries().length, 1)
})

test('a test’s key with another test’s header is treated as wrong, and a wrong key is refused everywhere', async (t) => {
  const mock = await mockFor(t)
  const [one, two] = [mock.context('one'), mock.context('two')]
  const response = await fetch(`${mock.baseUrl('openai')}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${one.key('openai')}`, ...two.headers },
    body: JSON.stringify(chatBody('m')),
  })
  assert.equal(response.status, 401)
  assert.deepEqual([one.entries().length, two.entries()[0]!.credential], [0, 'mismatch'])
  const wrong = await fetch(`${one.baseUrl('openai')}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer another' },
    body: JSON.stringify(chatBody('m')),
  })
  assert.equal(wrong.status, 401)
})

test('the control port offers the same functions for each test below /t/NAME', async (t) => {
  const mock = await mockFor(t)
  const own = mock.context('a/b')
  const control = (method: string, path: string, body?: string) =>
    fetch(`${mock.controlUrl}/t/a%2Fb${path}`, { method, body: body ?? null })
  assert.equal((await control('POST', '/answers', '{"say":{"text":"Mine."}}')).status, 204)
  assert.match(await contentOf(await ask(mock, chatBody('m'))), /recorded answer/)
  assert.equal(await contentOf(await send(mock, own, 'base URL', chatBody('m'))), 'Mine.')
  assert.equal(((await (await control('GET', '/ledger')).json()) as any).entries.length, 1)
  assert.equal((await control('DELETE', '/ledger')).status, 204)
  assert.deepEqual(own.entries(), [])
  assert.equal(mock.entries().length, 1)
  assert.equal((await control('PUT', '/reachable', 'false')).status, 404, 'the port is for all')
})

test('within a process, a header assigns a request to a test’s context', async () => {
  const providers = interceptProviders({ pace: 'none', lenient: true })
  try {
    const own = providers.context('mine')
    own.answer({ say: { text: 'Mine.' } })
    const asking = (headers = {}) =>
      fetch('https://api.openai.com/v1/chat/completions', {
        method: 'POST',
        headers,
        body: JSON.stringify(chatBody('m')),
      })
    assert.match(await contentOf(await asking()), /recorded answer/)
    assert.equal(await contentOf(await asking(own.headers)), 'Mine.')
    assert.deepEqual([own.entries().length, providers.entries().length], [1, 1])
  } finally {
    providers.dispose()
  }
})
