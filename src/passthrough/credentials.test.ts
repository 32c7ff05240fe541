// Credentials of relayed calls, over real sockets: several keys of a provider, and a caller's own.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { testGateway } from '../test/test-gateway.ts'
import { replyWith, startProvider } from './test-provider.ts'

const json = { 'content-type': 'application/json' }
const digestOf = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`

test('if a provider has several keys, all calls in a session are sent with the same key (KEEP-11)', async (t) => {
  const provider = await startProvider(t, replyWith({}))
  const gateway = await testGateway(t, {
    providers: {},
    env: { A: 'sk-a', B: 'sk-b' },
    config: `  one: { dialect: openai, base_url: "${provider.origin}/v1", keys: [ { name: a, key: $A }, { name: b, key: $B } ] }
passthrough: [moderations]`,
  })
  for (const session of ['one', 'two', 'three', 'two', 'one', 'three', 'three', 'one', 'two'])
    await gateway.get('/v1/moderations', {
      method: 'POST',
      headers: { ...json, 'x-session-id': session },
      body: JSON.stringify({ input: session }),
    })
  const used = Map.groupBy(provider.arrived, ({ body }) => JSON.parse(body.toString()).input)
  const keys = [...used.values()].map((calls) => new Set(calls.map(({ headers }) => headers.authorization)))
  assert.deepEqual(
    keys.map(({ size }) => size),
    [1, 1, 1],
  )
  assert.equal(new Set(keys.flatMap((each) => [...each])).size, 2, 'both keys are used')
})

test("a caller's credential is sent only with the caller's own calls, to the provider that accepts it (KEEP-10)", async (t) => {
  const [own, other] = [await startProvider(t, replyWith({})), await startProvider(t, replyWith({}))]
  const gateway = await testGateway(t, {
    providers: {},
    env: { OTHER: 'sk-other' },
    config: `  own: { dialect: openai, base_url: "${own.origin}/v1", auth: caller }
  gone: { dialect: openai, base_url: "http://127.0.0.1:1/v1", auth: caller }
  other: { dialect: openai, base_url: "${other.origin}/v1", key: $OTHER }
passthrough: [moderations]
routes: { auto: { strategy: priority, targets: [ { model: gone/m }, { model: other/m } ] } }
keys:
${['ann', 'bob'].map((name) => `  - { name: ${name}, digest: "${digestOf(`wb-key-of-${name}`)}" }`).join('\n')}`,
  })
  const ask = async (name: string, model: string, credential?: string) =>
    gateway.get('/v1/moderations', {
      method: 'POST',
      headers: {
        ...json,
        'x-gateway-key': `wb-key-of-${name}`,
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
      },
      body: JSON.stringify({ input: 'hi', model }),
    })
  assert.equal((await ask('ann', 'own/m', 'credential-of-ann')).status, 200)
  assert.equal(own.arrived[0]!.headers.authorization, 'Bearer credential-of-ann')
  assert.equal((await ask('ann', 'auto', 'credential-of-ann')).status, 200)
  assert.equal(other.arrived[0]!.headers.authorization, 'Bearer sk-other', 'after a fallback')
  assert.ok((await ask('bob', 'own/m')).status >= 400)
  assert.equal(own.arrived.length, 1, 'a call without a credential does not go there')
  for (const { headers } of [...own.arrived, ...other.arrived])
    assert.ok(!JSON.stringify(headers).includes('wb-key-of'), 'the gateway key stays')
})
