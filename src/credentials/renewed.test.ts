// Renewal of an expiring credential: it happens in time, one fetch serves many calls, and failures are handled.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Renewed } from './token.ts'

const MINUTE = 60_000

function setup({ life = 60 * MINUTE, timeoutMs = 1_000 } = {}) {
  let now = 1_800_000_000_000
  let fetched = 0
  let answer: () => Promise<void> = async () => {}
  const renewed = new Renewed({
    async fetch() {
      const n = ++fetched
      await answer()
      return { value: `token-${n}`, expiresAt: now + life }
    },
    explain: (error) => `it failed (${(error as Error).message})`,
    what: 'cloud: no token',
    now: () => now,
    timeoutMs,
  })
  return {
    renewed,
    fetched: () => fetched,
    pass(ms: number) {
      now += ms
    },
    answerBy(made: typeof answer) {
      answer = made
    },
  }
}

test('a thousand concurrent calls wait for one fetch from a slow endpoint (KEEP-09)', async () => {
  const { renewed, fetched, answerBy } = setup()
  const slow = Promise.withResolvers<void>()
  answerBy(() => slow.promise)
  const calls = Array.from({ length: 1_000 }, () => renewed.get())
  assert.equal(fetched(), 1)
  slow.resolve()
  assert.deepEqual(new Set(await Promise.all(calls)), new Set(['token-1']))
  assert.equal(renewed.get(), 'token-1')
  assert.equal(fetched(), 1)
})

test('a token is renewed once, five minutes before it expires, while calls continue', async () => {
  const { renewed, fetched, pass } = setup()
  await renewed.get()
  pass(54 * MINUTE)
  assert.equal(renewed.get(), 'token-1')
  assert.equal(fetched(), 1)
  pass(2 * MINUTE)
  for (let n = 0; n < 100; n++) assert.equal(renewed.get(), 'token-1')
  assert.equal(fetched(), 2)
  await turn()
  assert.equal(renewed.get(), 'token-2')
})

test('calls wait once the token has expired; if an early renewal fails, the old token is used while it is valid', async () => {
  const { renewed, fetched, pass, answerBy } = setup()
  await renewed.get()
  answerBy(async () => {
    throw new Error('503')
  })
  pass(57 * MINUTE)
  assert.equal(renewed.get(), 'token-1')
  await turn()
  assert.equal(renewed.get(), 'token-1')
  assert.equal(fetched(), 2) // but not for every call
  pass(2 * MINUTE)
  assert.equal(renewed.get(), 'token-1')
  await turn()
  assert.equal(fetched(), 3)
  pass(2 * MINUTE)
  await assert.rejects(async () => renewed.get(), /^CredentialError: cloud: no token: it failed \(503\)$/)
  // Calls within the next second receive the same failure.
  assert.throws(() => renewed.get(), /503/)
  assert.equal(fetched(), 4)
  pass(1_001)
  answerBy(async () => {})
  assert.equal(await renewed.get(), 'token-5')
})

test('an endpoint that hangs causes an error after its timeout, instead of another request for each call', async () => {
  const { renewed, fetched, answerBy } = setup({ timeoutMs: 20 })
  answerBy(() => new Promise(() => {}))
  const calls = Array.from({ length: 50 }, async () => renewed.get())
  for (const call of await Promise.allSettled(calls))
    assert.match(String((call as PromiseRejectedResult).reason), /none came within 20 ms/)
  assert.equal(fetched(), 1)
})

test('a refused token is fetched again, unless a newer token is already available', async () => {
  const { renewed, fetched } = setup()
  await renewed.get()
  renewed.refused('token-0')
  assert.equal(renewed.get(), 'token-1')
  renewed.refused('token-1')
  assert.equal(await renewed.get(), 'token-2')
  assert.equal(fetched(), 2)
})

test('a token with little time left is not fetched again for every call', async () => {
  const { renewed, fetched } = setup({ life: MINUTE })
  await renewed.get()
  for (let n = 0; n < 100; n++) await renewed.get()
  assert.equal(fetched(), 1)
})
