// The estimate for another route, from the record of the calls on one route, against the same calls really sent
// on the other. The providers cache prompts and refuse every twentieth request. Prints the figures.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SYSTEM_CLOCK } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { cachingProvider } from './test-caching-provider.ts'
import { runCli } from './test-cli.ts'
import { type TestGateway, temporaryDirectory, testGateway } from './test-gateway.ts'
import { IS_FULL } from './test-size.ts'

const CALLS = IS_FULL ? 10_000 : 600
/** In a sample, the failures of a few calls decide. */
const MAX_ERROR = IS_FULL ? 0.01 : 0.03
const SEC = 1_000
const MIN = 60 * SEC

type Dialect = 'chat' | 'messages'
const CACHES = {
  alpha: { lifeMs: 5 * MIN, min: 1_024, step: 128 },
  beta: { lifeMs: 10 * MIN, min: 2_048, step: 1 },
  gamma: { lifeMs: 5 * MIN, min: 64, step: 64 },
}

const A = 'strategy: priority, targets: [ { model: alpha/a }, { model: beta/b }, { model: gamma/c } ]'

interface Case {
  readonly title: string
  readonly dialect: Dialect
  readonly route: string
  /** Prices of the models of alpha, beta and gamma. */
  readonly prices: readonly [string, string, string]
}

const CASES: readonly Case[] = [
  {
    title: 'priority, cheap caches',
    dialect: 'chat',
    route: 'strategy: priority, targets: [ { model: beta/b }, { model: gamma/c } ]',
    prices: [
      'input: 5, output: 25, cached_input: 0.5',
      'input: 1.25, output: 10, cached_input: 0.125',
      'input: 2, output: 6, cached_input: 0.2',
    ],
  },
  {
    title: 'sessions stay, tiers of length',
    dialect: 'chat',
    route: 'strategy: priority, sticky: session, targets: [ { model: gamma/c }, { model: alpha/a } ]',
    prices: [
      'input: 2, output: 10, cached_input: 0.2, over: [ { tokens: 8000, input: 4, output: 15, cached_input: 0.4 } ]',
      'input: 1, output: 2',
      'input: 2, output: 12, cached_input: 0.2, over: [ { tokens: 8000, input: 4, output: 18, cached_input: 0.4 } ]',
    ],
  },
  {
    title: 'round robin, marked caches with a price for writes',
    dialect: 'messages',
    route: 'strategy: round-robin, targets: [ { model: alpha/a }, { model: beta/b }, { model: gamma/c } ]',
    prices: [
      'input: 5, output: 25, cached_input: 0.5, cache_write: 6.25',
      'input: 3, output: 15, cached_input: 0.3, cache_write: 3.75',
      'input: 1, output: 5, cached_input: 0.1, cache_write: 1.25',
    ],
  },
]

const settings = ({ dialect, route, prices }: Case): string => {
  const by = dialect === 'chat' ? 'provider' : 'request'
  const models = Object.entries(CACHES).map(
    ([name, { min, step }], n) =>
      `  ${name}/${'abc'[n]}: { accepts: { cache: { by: ${by}, min: ${min}, step: ${step} } }, price: { ${prices[n]} } }`,
  )
  return `models:\n${models.join('\n')}\nroutes: { a: { ${A} }, b: { ${route} } }\nresilience: { retries: 0, cooldown: 5s }\nartifacts: { keep: 0 }`
}

/** Sends the calls to a route, and returns its gateway. Every run sends the same calls at the same times. */
async function run(t: TestContext, each: Case, route: string) {
  let time = SYSTEM_CLOCK.now() - 5 * 24 * 60 * MIN
  const clock = dated(() => time)
  const providers = Object.entries(CACHES).map(([name, cache]) => [
    name,
    cachingProvider({ ...cache, now: clock.now, writes: each.dialect === 'messages', failsEach: 20 }),
  ])
  const gateway = await testGateway(t, {
    ...{ clock, config: settings(each), providers: Object.fromEntries(providers) },
    dialects: Object.fromEntries(Object.keys(CACHES).map((name) => [name, [each.dialect]])),
  })
  await send(gateway, each.dialect, route, (ms) => {
    time += ms
  })
  return gateway
}

const SYSTEM = 'instructions #1500'

async function send(
  { url }: TestGateway,
  dialect: Dialect,
  route: string,
  advance: (ms: number) => void,
): Promise<void> {
  const draw = drawing()
  const upTo = (max: number) => Math.floor(draw() * max)
  const begin = () => ({ id: `s${upTo(1e9)}`, texts: [SYSTEM], left: 20 })
  const sessions = Array.from({ length: 24 }, begin)
  for (let n = 0; n < CALLS; n++) {
    advance(SEC + upTo(9 * SEC))
    // Some sessions are busy, others pause for longer than a cache lives.
    const at = Math.floor(24 * draw() ** 2)
    const session = sessions[at]!
    const chance = draw()
    if (chance < 0.02) session.texts = [SYSTEM, `summary ${n} #300`]
    else if (chance < 0.03 && session.texts.length > 2) session.texts[2] = `another ${n} #250`
    session.texts.push(`question ${n} #${50 + upTo(500)}`)
    const isAlone = draw() < 0.1
    const texts = isAlone ? [SYSTEM, `alone ${n} #${100 + upTo(3_000)}`] : session.texts
    const messages = texts.map((text, index) => ({
      role: index % 2 === 0 && index > 0 ? 'assistant' : 'user',
      content:
        dialect === 'chat'
          ? text
          : [
              {
                type: 'text',
                text,
                ...(index === texts.length - 1 && { cache_control: { type: 'ephemeral' } }),
              },
            ],
    }))
    const response = await fetch(`${url}/v1/${dialect === 'chat' ? 'chat/completions' : 'messages'}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(!isAlone && { 'x-gateway-session-id': session.id }),
      },
      body: JSON.stringify({ model: route, max_tokens: 1_000, messages }),
    })
    await response.arrayBuffer()
    session.texts.push(`answer ${n} #${20 + upTo(400)}`)
    if (--session.left === 0) sessions[at] = begin()
  }
}

/** Returns a source of numbers in [0, 1) that is the same every time. */
function drawing(): () => number {
  let state = 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

test(`what-if prices ${CALLS} calls on another route as the route really would, within ${100 * MAX_ERROR} % (PAGE-10)`, async (t) => {
  const directory = temporaryDirectory(t)
  const records = new Map<Dialect, TestGateway>()
  for (const each of CASES) {
    const first = records.get(each.dialect) ?? (await run(t, each, 'a'))
    records.set(each.dialect, first)
    const second = await run(t, each, 'b')
    const file = join(directory, 'other.yaml')
    const providers = Object.entries(CACHES).map(
      ([name, { lifeMs }]) =>
        `  ${name}: { dialect: ${each.dialect}, base_url: "http://127.0.0.1:1", prompt_cache: ${lifeMs / MIN}m }`,
    )
    writeFileSync(file, `providers:\n${providers.join('\n')}\n${settings(each)}\n`)
    const args = [
      'whatif',
      '--config',
      file,
      '--data',
      first.data,
      '--route',
      'b',
      '--since',
      '30d',
      '--json',
    ]
    const { code, stdout, stderr } = await runCli(args)
    assert.equal(code, 0, stderr)
    const { calls, recorded, repriced, statement, targets } = JSON.parse(stdout)
    const { totals } = (await second.get('/api/usage/history?window=30d&bucket=1d')).json
    const error = repriced.cost_usd / totals.cost_usd - 1
    const cached = (of: { input_tokens: number; cached_input_tokens: number }) =>
      `${((100 * of.cached_input_tokens) / of.input_tokens).toFixed(1)} %`
    const sum = (name: string) => targets.reduce((total: number, target: any) => total + target[name], 0)
    t.diagnostic(
      `${each.title}: on record $${recorded.cost_usd.toFixed(4)}, estimated $${repriced.cost_usd.toFixed(4)}, real $${totals.cost_usd.toFixed(4)}, ` +
        `error ${(100 * error).toFixed(3)} %; ${calls} of ${CALLS} calls, ${totals.fell_back} fell back; ` +
        `cached ${cached({ input_tokens: sum('input_tokens'), cached_input_tokens: sum('cached_input_tokens') })}, real ${cached(totals)}`,
    )
    assert.ok(Math.abs(error) < MAX_ERROR, `${each.title}: off by ${100 * error} %`)
    assert.equal(statement, `cost proved on ${calls} calls; quality not measured`)
  }
})
