// Reading a configuration: each mistake is reported with its line, defaults and units are filled in, and
// secrets are kept separate. Over 250 lines, because half of it is a table of mistakes.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../core/errors.ts'
import { loadConfig, parseConfig } from './load.ts'

const PROVIDER =
  'providers: { openai: { dialect: openai, base_url: https://api.openai.com/v1, key: $OPENAI_API_KEY } }\n'
const env = { OPENAI_API_KEY: 'sk-test-secret' }

function problems(text: string, environment: Record<string, string> = env): readonly string[] {
  try {
    parseConfig(text, 'w.yaml', { env: environment })
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
  return []
}

/** Returns a configuration with one rule. The only target is openai/x, of the tier `cheap`. */
const ruled = (when: string, use: string): string =>
  `${PROVIDER}models: { openai/x: { tier: cheap } }\nroutes:\n  auto:\n    rules: [ { ${when},\n      ${use} } ]\n    targets: [ { model: openai/x } ]\n`

const ROWS: readonly [string, string, RegExp][] = [
  ['broken YAML', 'routes: [ 1, 2', /^w\.yaml:1:\d+ .+/],
  [
    'a setting that does not exist',
    'server:\n  hots: x\n',
    /^w\.yaml:2:3 server\.hots: no such setting; did you mean host\?$/,
  ],
  ['a port out of range', 'server: { port: 70000 }', /^w\.yaml:1:17 server\.port: /],
  [
    'a size without a unit',
    'server:\n  body_limit: "20"\n',
    /^w\.yaml:2:15 server\.body_limit: must be a number and a unit, such as 20MiB$/,
  ],
  ['a duration in words', 'resilience:\n  idle: long\n', /^w\.yaml:2:9 resilience\.idle: .+ such as 5s$/],
  [
    'a request that may not take as long as its headers',
    'server: { headers_timeout: 20s, request_timeout: 15s }',
    /^w\.yaml:1:50 server\.request_timeout: must not be shorter than headers_timeout/,
  ],
  ['no time for the headers', 'server: { headers_timeout: 0s }', /headers_timeout: must be at least 100ms$/],
  ...['connect', 'stream_first_event', 'answer', 'idle'].map((setting): [string, string, RegExp] => [
    `a ${setting} that no timer lasts for`,
    `resilience:\n  ${setting}: 597h\n`,
    new RegExp(
      `^w\\.yaml:2:\\d+ resilience\\.${setting}: must be at most 596h, because no timer lasts longer$`,
    ),
  ]),
  [
    'a request that no timer lasts for',
    'server: { request_timeout: 597h }',
    /^w\.yaml:1:\d+ server\.request_timeout: must be at most 596h/,
  ],
  [
    'answers that are kept for no time',
    'cache: { ttl: 0s }',
    /^w\.yaml:1:15 cache\.ttl: must be at least 1s$/,
  ],
  [
    'a rate over a month',
    `keys: [ { name: a, digest: "sha256:${'0'.repeat(64)}", rate: { requests: 9, per: 720h } } ]`,
    /keys\.0\.rate\.per: must be between 1s and 24h$/,
  ],
  [
    'a budget over a year',
    `keys: [ { name: a, digest: "sha256:${'0'.repeat(64)}", budget: { usd: 9, per: year } } ]`,
    /keys\.0\.budget\.per: /,
  ],
  [
    'two budgets over a day',
    `keys: [ { name: a, digest: "sha256:${'0'.repeat(64)}", budget: [ { usd: 9, per: day }, { usd: 8, per: day } ] } ]`,
    /keys\.0\.budget: has two budgets for the same period/,
  ],
  [
    'a key in the file',
    'providers:\n  x: { dialect: openai, base_url: https://x.example, key: sk-live }\n',
    /^w\.yaml:2:\d+ providers\.x\.key: write \$NAME/,
  ],
  [
    'an address that is none',
    'providers: { x: { dialect: openai, base_url: x.example } }',
    /^w\.yaml:1:\d+ providers\.x\.base_url: /,
  ],
  [
    'an unknown dialect',
    'providers: { x: { dialect: telepathy, base_url: https://x.example } }',
    /^w\.yaml:1:\d+ providers\.x\.dialect: /,
  ],
  [
    'a route that begins with a provider',
    `${PROVIDER}routes:\n  openai/fast: { targets: [ { model: openai/x } ] }\n`,
    /^w\.yaml:3:\d+ routes\.openai\/fast: a route may not begin with the name of a provider$/,
  ],
  [
    'a target of an unknown provider',
    `${PROVIDER}routes:\n  auto:\n    targets:\n      - { model: opnai/x }\n`,
    /^w\.yaml:5:\d+ routes\.auto\.targets\.0\.model: there is no provider "opnai"; did you mean "openai\/x"\?$/,
  ],
  [
    'a route without targets',
    `${PROVIDER}routes: { auto: { targets: [] } }`,
    /^w\.yaml:2:\d+ routes\.auto\.targets: /,
  ],
  [
    'a strategy that does not exist',
    `${PROVIDER}routes: { auto: { strategy: psychic, targets: [ { model: openai/x } ] } }`,
    /^w\.yaml:2:\d+ routes\.auto\.strategy: /,
  ],
  [
    'weights that are all 0',
    `${PROVIDER}routes: { auto: { strategy: weighted, targets: [ { model: openai/x, weight: 0 } ] } }`,
    /routes\.auto\.targets: all weights are 0; give at least one target a weight$/,
  ],
  [
    'a rule for a tier that the route does not have',
    ruled('when: { tools: true }', 'use: { tier: premium }'),
    /^w\.yaml:6:20 routes\.auto\.rules\.0\.use\.tier: no target of the route has the tier "premium"$/,
  ],
  [
    'a rule for a target that the route does not have',
    ruled('when: { tools: true }', 'use: { target: openai/y }'),
    /^w\.yaml:6:22 routes\.auto\.rules\.0\.use\.target: the route has no target "openai\/y"; did you mean "openai\/x"\?$/,
  ],
  [
    'a rule for a tier and a target',
    ruled('when: { tools: true }', 'use: { tier: cheap, target: openai/x }'),
    /^w\.yaml:6:12 routes\.auto\.rules\.0\.use: must name either a tier or a target$/,
  ],
  [
    'a rule without a condition',
    ruled('when: {}', 'use: { tier: cheap }'),
    /^w\.yaml:5:22 routes\.auto\.rules\.0\.when: has no condition$/,
  ],
  [
    'an effort that does not exist',
    ruled('when: { effort: [high, utmost] }', 'use: { tier: cheap }'),
    /^w\.yaml:5:\d+ routes\.auto\.rules\.0\.when\.effort: must be a reasoning effort, such as high, or a list of them$/,
  ],
  [
    'a condition that does not exist',
    ruled('when: { tools: true, tokens: 5 }', 'use: { tier: cheap }'),
    /^w\.yaml:5:\d+ routes\.auto\.rules\.0\.when\.tokens: no such setting; there are: input_tokens, tools, images, effort, purpose, client$/,
  ],
  [
    'a digest that is none',
    'keys: [ { name: a, digest: "sha256:12" } ]',
    /^w\.yaml:1:\d+ keys\.0\.digest: must be sha256: and 64 hex digits; `waybill key new NAME` prints it$/,
  ],
  [
    'a name used twice',
    `keys:\n${`  - { name: a, digest: "sha256:${'0'.repeat(64)}" }\n`.repeat(2)}`,
    /^w\.yaml:3:\d+ keys\.1\.name: "a" is used twice$/,
  ],
]

for (const [name, text, expected] of ROWS)
  test(`reports ${name} with its line`, () => {
    const found = problems(text)
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0]!, expected)
  })

test('outside replay, a key that is missing from the environment is an error that names the variable and its line', () => {
  assert.deepEqual(problems(PROVIDER, {}), [
    'w.yaml:1:83 providers.openai.key: environment variable OPENAI_API_KEY is not set; export it, keep it with `waybill key set OPENAI_API_KEY`, or remove the provider',
  ])
  assert.equal(parseConfig(PROVIDER, 'w.yaml', { env: {}, replay: true }).secrets.size, 0)
})

test('every problem is reported, not only the first', () => {
  assert.equal(problems('server: { port: x }\ndurability: maybe\n').length, 2)
})

test('secrets are kept separate from printable settings', () => {
  const { config, secrets } = parseConfig(PROVIDER, 'w.yaml', { env })
  assert.equal(secrets.get('openai'), 'sk-test-secret')
  assert.doesNotMatch(JSON.stringify(config), /sk-test-secret/)
})

test('missing settings have defaults, units are accepted, and the environment takes precedence over the file', () => {
  const { config } = parseConfig('{}', 'w.yaml', { env: {} })
  assert.deepEqual(config.server, {
    host: '127.0.0.1',
    port: 4949,
    body_limit: 20 * 2 ** 20,
    headers_timeout: 10_000,
    request_timeout: 120_000,
    max_calls: 1_000,
    allowed_hosts: [],
    allowed_origins: [],
  })
  assert.deepEqual(config.resilience, {
    connect: 5_000,
    stream_first_event: 60_000,
    answer: 600_000,
    idle: 120_000,
    retries: 1,
    cooldown: 30_000,
  })
  const environment = {
    WAYBILL_HOST: '::1',
    WAYBILL_PORT: '5000',
    WAYBILL_DATA: '/d',
    WAYBILL_ALLOWED_HOSTS: 'a,b',
    WAYBILL_KEY_DIGESTS: `ci:admin=sha256:${'a'.repeat(64)}`,
  }
  const other = parseConfig('server: { port: 1, body_limit: 1.5KiB }', 'w.yaml', { env: environment }).config
  const { host, port, body_limit, allowed_hosts } = other.server
  assert.deepEqual([host, port, body_limit, allowed_hosts], ['::1', 5000, 1536, ['a', 'b']])
  assert.deepEqual(
    [other.data, other.keys],
    ['/d', [{ name: 'ci', role: 'admin', digest: `sha256:${'a'.repeat(64)}` }]],
  )
})

test('a fraction of a millisecond or of a byte is rounded, because timers and buffers accept only whole numbers', () => {
  const text = 'server: { headers_timeout: 5.0001s, body_limit: 1.3333KiB }'
  const { server } = parseConfig(text, 'w.yaml', { env: {} }).config
  assert.equal(server.headers_timeout, 5_000)
  assert.equal(server.body_limit, 1_365)
})

test('a request may take as long as its headers alone', () => {
  const text = 'server: { headers_timeout: 20s, request_timeout: 20s }'
  assert.equal(parseConfig(text, 'w.yaml', { env: {} }).config.server.request_timeout, 20_000)
})

test('a rule may name a tier that a target inherits from its model', () => {
  const { config } = parseConfig(ruled('when: { effort: low }', 'use: { tier: cheap }'), 'w.yaml', { env })
  assert.deepEqual(config.routes.auto!.rules, [{ when: { effort: 'low' }, use: { tier: 'cheap' } }])
})

test('the example configurations are valid', () => {
  for (const [file, route] of [
    ['waybill.yaml', 'auto'],
    ['claude-code.yaml', 'auto/code'],
  ] as const) {
    const example = fileURLToPath(new URL(`../../examples/${file}`, import.meta.url))
    assert.ok(route in loadConfig(example, { env: {}, replay: true }).config.routes)
  }
})

test('the paths of fleet certificates are relative to the configuration file, not to the working directory', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-ca-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'waybill.yaml')
  writeFileSync(file, 'fleet: { url: $POSTGRES, ca: certificates/ca.pem }\n')
  const { config } = loadConfig(file, { env: { POSTGRES: 'postgresql://db.example/waybill' } })
  assert.equal(config.fleet?.ca, join(directory, 'certificates/ca.pem'))
})

test('prices in the configuration take precedence over the `prices` file, and mistakes in this file are reported with their line', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-prices-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [file, prices] = [join(directory, 'waybill.yaml'), join(directory, 'prices.yaml')]
  writeFileSync(
    file,
    `prices: prices.yaml
providers: { a: { dialect: openai, base_url: http://127.0.0.1:1 } }
models: { a/own: { tier: cheap, price: { input: 1, output: 1 } }, a/known: { tier: cheap } }
routes: { auto: { targets: [{ model: a/own }] } }
`,
  )
  writeFileSync(
    prices,
    'a/own: { input: 9, output: 9 }\na/known: { input: 2, output: 3 }\nb/x: { input: 4, output: 5 }\n',
  )
  const { models } = loadConfig(file, { env: {} }).config
  assert.equal(models['a/own']?.price?.input, 1)
  assert.deepEqual([models['a/known']?.tier, models['a/known']?.price], ['cheap', { input: 2, output: 3 }])
  assert.deepEqual(models['b/x']?.price, { input: 4, output: 5 }, 'a file may serve several configurations')

  const wrong = () => {
    try {
      loadConfig(file, { env: {} })
    } catch (error) {
      if (error instanceof ConfigError) return error.problems
      throw error
    }
    return []
  }
  writeFileSync(prices, 'a/x: { input: 1, outptu: 2 }\nb: { input: 1, output: 2 }\n')
  assert.deepEqual(wrong(), [
    `${prices}:1:18 a/x.outptu: no such setting; did you mean output?`,
    `${prices}:2:1 b: expected provider/model`,
  ])
  rmSync(prices)
  assert.match(wrong().join(), /^prices: .*prices\.yaml: no such file; write the file, or remove `prices`$/)
})
