// Promises of credentials. Each is tested with the real credentials, and with broken credentials that violate the
// promise in one way. A test that passes for every broken version would prove nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callersOwn } from './caller.ts'
import { CallerCredential } from './caller-credential.ts'
import type { Credential, Credentials, CredentialUse } from './credentials.ts'
import { keyPool, PoolState } from './key-pool.ts'
import { fixedKey } from './key-source.ts'
import { singleKey } from './registry.ts'

const NOW = 1_800_000_000_000
const TOKEN = 'sk-ant-oat01-of-the-caller'
const CALLER = new CallerCredential(['authorization', `Bearer ${TOKEN}`])
const REQUEST = { path: '/', headers: ['content-type', 'application/json'], body: '{}' }

const use = (more: Partial<CredentialUse> = {}): CredentialUse => ({
  ...{ caller: null, session: null, tried: new Set<string>() },
  ...more,
})

/** Returns everything that a request contains. */
const sentBy = async (credentials: Credentials, more: Partial<CredentialUse> = {}): Promise<string> => {
  const credential = await credentials.take(use(more))
  return JSON.stringify([credential.key, await (credential.complete?.(REQUEST, 'POST') ?? REQUEST)])
}

type Pool = () => Credentials

const pool: Pool = () =>
  keyPool({
    ...{ provider: 'p', state: new PoolState(), learn() {}, now: () => NOW },
    sources: new Map(['a', 'b', 'c'].map((name) => [name, fixedKey(`key-${name}-0123456789`)])),
  })

const taken = (credentials: Credentials, session: string, tried: ReadonlySet<string> = new Set()) =>
  credentials.take(use({ session, tried })) as Credential

/** Checks that a session stays with its key, and that sessions are spread over the keys. */
function sessionsStay(make: Pool): void {
  const credentials = make()
  const first = ['s1', 's2', 's3'].map((session) => taken(credentials, session).name)
  assert.ok(new Set(first).size > 1, 'sessions are spread')
  // Uses a different order each time, so that round-robin cannot pass for stickiness.
  for (const order of [
    [2, 0, 1],
    [1, 1, 0],
    [0, 2, 2],
    [2, 1, 0],
  ])
    for (const at of order) assert.equal(taken(credentials, `s${at + 1}`).name, first[at])
}

/** Checks that a session stays with its new key after a move, and that the move is named once. */
function movesOnce(make: Pool): void {
  const credentials = make()
  const first = taken(credentials, 's1')
  const refused = { status: 429, headers: {}, code: null, message: null, retryAfterMs: 60_000 }
  assert.equal(first.settled?.(refused), 'another')
  const second = taken(credentials, 's1', new Set([first.name!]))
  assert.deepEqual([second.name === first.name, second.moved], [false, true])
  const third = taken(credentials, 's1')
  assert.deepEqual([third.name, third.moved], [second.name, false])
}

/** Checks that a key whose headers report no remaining capacity receives no call. */
function limitsAreRead(make: Pool): void {
  const credentials = make()
  const first = taken(credentials, 's1')
  const headers = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '60s' }
  first.settled?.({ status: 200, headers, code: null, message: null, retryAfterMs: null })
  assert.notEqual(taken(credentials, 's1').name, first.name)
}

/** Makes a pool whose key for each call is chosen by `choose`. */
const brokenPool =
  (choose: (n: number, use: CredentialUse) => string, more: Partial<Credential> = {}): Pool =>
  () => {
    let n = 0
    return {
      areCallers: false,
      take: (given) => ({
        key: 'k',
        name: choose(n++, given),
        settled: () => 'another',
        moved: false,
        ...more,
      }),
      holdsSecret: () => false,
    }
  }

const splitsSessions = brokenPool((n) => 'abc'[n % 3]!)
const usesOneKey = brokenPool(() => 'a')
const forgetsTheMove = brokenPool((_, { tried }) => (tried.size > 0 ? 'b' : 'a'), { moved: true })

for (const [promise, check, broken] of [
  ['sessions stay with their key', sessionsStay, { splitsSessions, usesOneKey }],
  ['a session moves once, and says so', movesOnce, { splitsSessions, forgetsTheMove }],
  ['limits in headers are read', limitsAreRead, { usesOneKey, forgetsTheMove }],
] as const) {
  test(`${promise} (KEEP-08)`, () => check(pool))
  for (const [name, make] of Object.entries(broken))
    test(`the test of "${promise}" fails with a key pool that ${name}`, () =>
      assert.throws(() => check(make), assert.AssertionError))
}

type Pair = () => { readonly login: Credentials; readonly paid: Credentials }

const pair: Pair = () => ({ login: callersOwn('login'), paid: singleKey('key-of-paid-0123456789') })

/**
 * Checks that the caller's credential goes unchanged to its own provider and no other, and is used only for
 * its call.
 */
async function callersStay(make: Pair): Promise<void> {
  const { login, paid } = make()
  const own = await sentBy(login, { caller: CALLER })
  assert.ok(own.includes(`"authorization","Bearer ${TOKEN}"`), 'as it was sent')
  assert.ok(!(await sentBy(paid, { caller: CALLER })).includes(TOKEN), 'not on fallback')
  await assert.rejects(async () => sentBy(login), { name: 'CredentialError' }, 'not for another caller')
}

const leaky = (credentials: Credentials): Credentials => ({
  ...credentials,
  areCallers: credentials.areCallers,
  holdsSecret: () => false,
  take: (given) => ({
    key: 'key-of-paid',
    complete: (request) => ({
      ...request,
      headers: [...request.headers, ...(given.caller?.forProvider() ?? [])],
    }),
  }),
})

const asAKey = (): Credentials => ({
  ...callersOwn('login'),
  take: () => ({ key: TOKEN }),
})

function pooling(): Credentials {
  const inner = callersOwn('login')
  let last: CallerCredential | null = null
  return {
    ...inner,
    take(given) {
      last = given.caller ?? last
      return inner.take({ ...given, caller: last })
    },
  }
}

test('a caller’s credential is sent only to its provider, and only with the caller’s own call (KEEP-07)', () =>
  callersStay(pair))
for (const [name, make] of Object.entries({
  sendsItOnFallback: () => ({ ...pair(), paid: leaky(singleKey('key-of-paid')) }),
  changesItsHeader: () => ({ ...pair(), login: asAKey() }),
  lendsItToTheNextCaller: () => ({ ...pair(), login: pooling() }),
} satisfies Record<string, Pair>))
  test(`the test of the caller’s credential fails with credentials that ${name}`, () =>
    assert.rejects(() => callersStay(make), assert.AssertionError))
