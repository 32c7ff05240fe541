// Tests which requests a user's own recordings answer, with their provider configured at various addresses,
// and that no answer is made up if no recording fits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type InterceptOptions, interceptProviders } from '../server/intercept.ts'
import { chatBody, mockFor } from '../server/test-mock.ts'
import type { Recording } from './format.ts'

const recorded = (
  name: string,
  { status = 200, text = '{"choices":[]}', endpoint = 'chat/completions', ...request } = {} as Partial<
    Recording['request']
  > & { status?: number; text?: string; endpoint?: string },
) =>
  ({
    name,
    provider: name.split('/')[0],
    endpoint,
    request: {
      method: 'POST',
      path: `/v1/${endpoint}`,
      model: null,
      stream: false,
      scenario: 'plain',
      ...request,
    },
    response: {
      status,
      headers: { 'content-type': 'application/json' },
      body: 'x.body.json',
      chunks: [[text.length, 0]],
    },
    origin: 'recorded',
    bytes: Buffer.from(text),
  }) as unknown as Recording

async function asking(options: InterceptOptions, url: string, body: unknown = chatBody('model-a')) {
  const interception = interceptProviders({ pace: 'none', loopback: 'recorded', ...options })
  try {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
    return { status: response.status, text: await response.text(), entries: interception.entries() }
  } finally {
    interception.dispose()
  }
}

const OPENAI = 'https://api.openai.com/v1/chat/completions'

test('a folder of recordings answers only recorded requests, unless an option allows more', async () => {
  const recordings = [recorded('openai/other', { model: 'model-b' })]
  const { status, text } = await asking({ recordings }, OPENAI)
  assert.equal(status, 400)
  assert.match(text, /The nearest is openai\/other; it differs in model/)
  assert.match(text, /waybill record --provider openai .* --invent/)
  assert.equal((await asking({ recordings, invent: true, lenient: true }, OPENAI)).status, 200)
  assert.equal((await asking({ recordings }, OPENAI, chatBody('scenario-429'))).status, 429, 'by name')
})

const addresses: [string, string, string][] = [
  // configured name and base URL, requested address
  ['together', 'https://api.together.xyz/v1', 'https://api.together.xyz/v1/chat/completions'],
  ['a', 'https://models.test/a', 'https://models.test/a/chat/completions'],
  ['b', 'https://models.test/a/b/', 'https://models.test/a/b/chat/completions'],
  ['work', 'https://api.openai.com/v1', OPENAI],
  ['openai', 'http://127.0.0.1:8000/v1', 'http://127.0.0.1:8000/v1/chat/completions'],
  ['bare', 'https://bare.test', 'https://bare.test/chat/completions'],
  [
    'flash',
    'https://generativelanguage.googleapis.com/v1beta/openai',
    'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
  ],
]
const providers = () => Object.fromEntries(addresses.map(([name, base]) => [name, base]))

for (const [name, base, address] of addresses)
  test(`the recorded answer from ${name} is returned at ${base}`, async () => {
    const recordings = addresses.map(([each]) => recorded(`${each}/plain`, { text: `{"of":"${each}"}` }))
    const { status, text } = await asking({ recordings, providers }, address)
    assert.equal(status, 200, text)
    assert.deepEqual(JSON.parse(text), { of: name })
  })

test('if the configured name has no recordings, those of the mock provider or of the host are used', async () => {
  const own = [recorded('work/other', { model: 'model-b' })]
  for (const [folder, address, endpoint] of [
    ['openai', OPENAI, 'chat/completions'],
    ['api.together.xyz', 'https://api.together.xyz/v1/chat/completions', 'v1/chat/completions'],
  ] as const) {
    const recordings = [...own, recorded(`${folder}/plain`, { endpoint, text: '{"of":"it"}' })]
    const { text } = await asking({ recordings, providers }, address)
    assert.deepEqual(JSON.parse(text), { of: 'it' })
  }
})

test('if two providers have the same address, the recordings from both are used', async () => {
  const both = () => ({ first: 'https://api.openai.com/v1', second: 'https://api.openai.com/v1/' })
  const recordings = [recorded('second/plain', { text: '{"of":"second"}' })]
  assert.match((await asking({ recordings, providers: both }, OPENAI)).text, /second/)
})

test('a provider’s recorded answer takes precedence over a mock’s refusal', async () => {
  const invalid = { model: 'model-a', messages: 'none' }
  const recordings = [recorded('openai/400', { status: 400, text: '{"error":"as it came"}' })]
  const { status, text, entries } = await asking({ recordings }, OPENAI, invalid)
  assert.deepEqual([status, text], [400, '{"error":"as it came"}'])
  assert.match(entries[0]!.problems.join(), /messages/)
})

test('a recorded error is replayed at its place among the recorded answers', async () => {
  const failed = recorded('openai/first', { status: 429 })
  assert.equal(
    (await asking({ recordings: [failed, recorded('openai/second', { order: 2 })] }, OPENAI)).status,
    429,
  )
})

test('the mock serves every recorded provider, even one that is not built in', async (t) => {
  const recordings = [
    recorded('together/plain', { path: '/team/v1/chat/completions', text: '{"of":"together"}' }),
    recorded('together/stream', { path: '/team/v1/chat/completions', stream: true, model: 'model-b' }),
    recorded('10.0.0.1:8000/plain', { endpoint: 'v1/chat/completions' }),
  ]
  for (const invent of [false, true]) {
    const mock = await mockFor(t, { recordings, invent })
    assert.equal(mock.baseUrl('together'), `${mock.url}/together/team/v1`)
    const ask = async (body: object, key = mock.key('together')) => {
      const response = await fetch(`${mock.baseUrl('together')}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      })
      return { status: response.status, text: await response.text() }
    }
    assert.deepEqual(await ask(chatBody('model-a')), { status: 200, text: '{"of":"together"}' })
    assert.equal((await ask(chatBody('model-a'), 'another key')).status, 401)
    const miss = await ask(chatBody('model-a', { stream: true }))
    assert.equal(miss.status, invent ? 200 : 400, miss.text)
    assert.equal(mock.entries()[0]!.provider, 'together')
    assert.equal((await fetch(`${mock.baseUrl('10.0.0.1:8000')}/v1/models`)).status, 401, 'an imported host')
  }
})
