// The cost of the session, a cache hit and an estimate, as shown by both variants. If the gateway cannot
// report the session's cost, the rest of the line stays complete (LINE-02, LINE-05).
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { ask, type TestGateway, testGateway } from '../test/test-gateway.ts'
import {
  assertSound,
  bare,
  commands,
  front,
  kept,
  patiently,
  recorded,
  run,
  session,
  surroundings,
  VARIANTS,
} from './test-statusline.ts'

// The 20 input tokens of each answer cost two dollars; model-a has no price.
const CONFIG = `models: { alpha/dear: { price: { input: 100000, output: 0 } } }
routes:
  auto: { targets: [ { model: alpha/model-a } ] }
  paid: { targets: [ { model: alpha/dear } ] }
  cached: { cache: true, targets: [ { model: alpha/dear } ] }`
const AGENT = { 'x-claude-code-agent-id': 'agent-1' }
/** Cuts a whole answer off before its usage, so that the usage is estimated. */
const cutShort: Script = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write('data: {"choices":[{"index":0,"delta":{"content":"half a sentence"}}]}\n\n')
  setTimeout(() => response.destroy(), 50)
}

interface Row {
  readonly id: string
  readonly model?: string
  readonly segments?: string
  readonly env?: Record<string, string>
  readonly shows: RegExp
}

const ROWS: Readonly<Record<string, Row>> = {
  'all its calls, those of subagents and in the background too': {
    id: 'mixed',
    shows: /^auto → alpha\/model-a · session ≥ \$6\.00$/,
  },
  'its name may hold what a path may not': { id: 'a/../b?c=1#d %2f', shows: /· session ≥ \$2\.00$/ },
  'a session whose name is a step up keeps its route': { id: '..', shows: /^auto → alpha\/model-a/ },
  'no call has a known price': { id: 'free', shows: /^auto → alpha\/model-a$/ },
  'no call was made': { id: 'new', shows: /^auto → ~alpha\/model-a$/ },
  'no main call was made': { id: 'agents', shows: /^auto → ~alpha\/model-a · session \$2\.00$/ },
  'it stands where it is put': {
    id: 'mixed',
    segments: 'session,route',
    shows: /^session ≥ \$6\.00 · auto → alpha\/model-a$/,
  },
  'beside the cost of the call, with room for both': {
    id: 'paid',
    model: 'paid',
    segments: 'route,cost,session',
    env: { COLUMNS: '41' },
    shows: /^paid → alpha\/dear · \$2\.00 · session \$4\.00$/,
  },
  'it goes before the cost of the call': {
    id: 'paid',
    model: 'paid',
    segments: 'route,cost,session',
    env: { COLUMNS: '40' },
    shows: /^paid → alpha\/dear · \$2\.00$/,
  },
  'it is not asked for': { id: 'mixed', segments: 'route', shows: /^auto → alpha\/model-a$/ },
  'a cache hit cost nothing, and says what it saved': {
    id: 'hit',
    model: 'cached',
    segments: 'route,cost,cache,session',
    shows: /^cached → alpha\/dear · \$0 · cache hit, saved \$2\.00 · session \$2\.00$/,
  },
  'tokens that were not reported are marked': {
    id: 'cut',
    model: 'paid',
    segments: 'tokens,cost',
    shows: /^↑~\d+ ↓~\d+ · ~\$\d+\.\d+$/,
  },
  'tokens that were reported are not': {
    id: 'paid',
    model: 'paid',
    segments: 'tokens,cost',
    shows: /^↑20 ↓7 · \$2\.00$/,
  },
}

test('the status line shows the cost of the session, of a cache hit and of an estimate (LINE-02, LINE-04, LINE-06)', async (t) => {
  const gateway = await seeded(t)
  const variants = await commands(t)
  const spent = gateway.received()
  for (const variant of VARIANTS)
    for (const [name, { id, model = 'auto', segments = 'route,session', env = {}, shows }] of Object.entries(
      ROWS,
    ))
      await t.test(`${variant} variant: ${name}`, async () => {
        const ran = await patiently(
          () =>
            run(
              [...variants[variant], '--segments', segments],
              surroundings(t, { WAYBILL_URL: gateway.url, ...env }),
              JSON.stringify(session(id, { id: model })),
            ),
          ({ stdout, stderr }) => !/did not answer/.test(stderr) && bare(stdout).trimEnd() !== 'waybill',
        )
        assertSound(ran, env)
        assert.match(bare(ran.stdout).trimEnd(), shows, ran.stderr)
      })
  assert.equal(gateway.received(), spent, 'LINE-04: no inference')
})

test('without the gateway, the session’s last known cost is shown with the age of the route (LINE-05)', async (t) => {
  const gateway = await seeded(t)
  const variants = await commands(t)
  for (const variant of VARIANTS) {
    const { url, become } = await front(t, gateway.url)
    const env = surroundings(t, { WAYBILL_URL: url })
    const draw = () =>
      run([...variants[variant], '--segments', 'route,session'], env, JSON.stringify(session('mixed')))
    await patiently(draw, ({ stdout }) => /≥ \$6\.00/.test(stdout))
    await kept(env)
    become(null)
    const last = /^auto → alpha\/model-a · session ≥ \$6\.00 · no (answer|gateway), \d+ s ago\n$/
    const ran = await patiently(draw, ({ stdout }) => last.test(bare(stdout)))
    assert.match(bare(ran.stdout), last, variant)
  }
})

test('a key sees only the cost of its own calls (KEEP-04)', async (t) => {
  const digest = (key: string) => createHash('sha256').update(key).digest('hex')
  const keys = ['ann', 'bob', 'eve'].map(
    (name) => `{ name: ${name}, role: client, digest: "sha256:${digest(name)}" }`,
  )
  const gateway = await testGateway(t, { config: `${CONFIG}\nkeys: [ ${keys.join(', ')} ]` })
  const variants = await commands(t)
  for (const key of ['ann', 'bob', 'bob'])
    await gateway.chat(ask('paid'), { 'x-session-id': 's', authorization: `Bearer ${key}` })
  for (const variant of VARIANTS)
    for (const [key, shows] of [
      ['ann', 'paid → alpha/dear · session $2.00\n'],
      ['bob', 'paid → alpha/dear · session $4.00\n'],
      ['eve', 'paid → ~alpha/dear\n'],
    ] as const) {
      const env = surroundings(t, { WAYBILL_URL: gateway.url, WAYBILL_KEY: key })
      const args = [...variants[variant], '--segments', 'route,session'] as const
      // The line has 150 ms for two requests, which may not be enough on a busy machine.
      const { stdout } = await patiently(
        () => run([...args], env, JSON.stringify(session('s', { id: 'paid' }))),
        (ran) => bare(ran.stdout) === shows,
      )
      assert.equal(bare(stdout), shows, `${variant}, ${key}`)
    }
})

/** Makes calls of every kind, in sessions named after them. */
async function seeded(t: TestContext): Promise<TestGateway> {
  const gateway = await testGateway(t, { config: CONFIG, providers: { alpha: answer() } })
  const call = (id: string, model: string, more = {}) =>
    recorded(gateway, model, { 'x-claude-code-session-id': id, ...more })
  await call('mixed', 'paid')
  await call('mixed', 'paid', AGENT)
  await call('mixed', 'alpha/dear')
  await call('mixed', 'auto')
  for (const id of ['a/../b?c=1#d %2f', '..']) {
    await call(id, 'paid')
    await call(id, 'auto')
  }
  await call('free', 'auto')
  await call('agents', 'paid', AGENT)
  await call('paid', 'paid')
  await call('paid', 'paid')
  await call('hit', 'cached')
  await call('hit', 'cached')
  gateway.upstream.alpha!.script = cutShort
  await gateway.chat(ask('paid', { stream: true }), { 'x-session-id': 'cut' }).catch(() => {})
  const { json } = await gateway.get('/api/usage/request-logs?session_id=cut')
  await gateway.record(json.data[0].id)
  return gateway
}
