// `waybill init` without a terminal. The command sends the providers nothing, or only a request for their
// models.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { calcPrice } from '@pydantic/genai-prices'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { providers } from '../../mocks/providers/registry.ts'
import { loadConfig } from '../config/load.ts'
import { PREFERENCES, PRESETS } from '../config/presets.ts'
import { createPricer, pricingOf } from '../pricing/pricing.ts'
import { clock } from '../shared/clock.ts'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { init } from './init.ts'

const KEYS = Object.fromEntries(PRESETS.map(({ keyVariable }) => [keyVariable, 'sk-of-the-operator']))
const ALL = PRESETS.map(({ name }) => name).join(',')

test('the written file is a valid configuration for every preset and preference, and contains no key', async (t) => {
  for (const prefer of PREFERENCES) {
    const file = join(temporaryDirectory(t), 'waybill.yaml')
    const { code, stdout, stderr } = await runCli(['init', file, '--provider', ALL, '--prefer', prefer], {
      env: KEYS,
    })
    assert.deepEqual([code, stderr], [0, ''])
    const { config } = loadConfig(file, { env: KEYS })
    assert.deepEqual(
      Object.keys(config.providers),
      PRESETS.map(({ name }) => name),
    )
    assert.equal(config.routes.auto!.targets.length, PRESETS.length)
    assert.equal(config.defaults.messages, 'auto', 'an agent that asks for its usual model is answered')
    assert.doesNotMatch(readFileSync(file, 'utf8') + stdout, /sk-of-the-operator/)
    assert.match(stdout, /waybill serve --config /)
  }
})

test('every preset has a price, and presets known to the mock have the mock’s addresses', async (t) => {
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  await init({ file, provider: ALL, env: KEYS, say: () => {} })
  const price = createPricer(pricingOf(loadConfig(file, { env: KEYS }).config))
  const tokens = { input: 3_000, output: 1_000, cached_input: null, cache_write: null, reasoning: null }
  for (const { name, baseUrl, models } of PRESETS)
    for (const model of models) {
      const listed = calcPrice({ output_tokens: 1_000 }, model, { providerApiUrl: baseUrl })
      const usd = price({ provider: name, model }, tokens, clock.now()).usd ?? listed?.total_price
      assert.ok((usd ?? 0) > 0, `${name}/${model}`)
    }
  const known = PRESETS.flatMap(({ name, baseUrl }) => {
    const provider = providers.find((each) => each.name === name)
    // Cohere's mock serves only rerank, which has a different address from chat.
    return provider?.endpoints.some(({ speech }) => speech !== null)
      ? [[name, provider.origin, new URL(baseUrl).origin] as const]
      : []
  })
  assert.ok(known.length >= 8)
  for (const [name, there, here] of known) assert.equal(there, here, name)
})

test('an existing file, an unknown provider or a missing terminal causes a one-line error and exit code 2, and nothing is written', async (t) => {
  const directory = temporaryDirectory(t)
  const there = join(directory, 'there.yaml')
  writeFileSync(there, '')
  const none = join(directory, 'none.yaml')
  for (const [args, says] of [
    [[there, '--provider', 'openai'], /there\.yaml already exists; name another file/],
    [[none, '--provider', 'groqq'], /there is no preset for "groqq"; did you mean groq\?/],
    [[none, '--provider', 'hal9000'], /there is no preset for "hal9000"; the presets are openai, /],
    [
      [none, '--provider', 'bedrock'],
      /no preset for "bedrock", because its address holds your region.*add this one as in docs\/credentials\.md/,
    ],
    [[none, '--provider', ','], /name at least one provider/],
    [[none], /there is no terminal for questions; give --provider/],
    [[none, '--provider', 'openai', '--prefer', 'luck'], /Allowed choices are order, price, speed/],
  ] as const) {
    const { code, stderr } = await runCli(['init', ...args])
    assert.match(stderr, says)
    assert.match(stderr, /^waybill: [^\n]+\n$/)
    assert.equal(code, 2)
  }
  assert.equal(existsSync(none), false)
})

test('with `--check`, `waybill init` requests only the list of models from each provider, and reports the result', async (t) => {
  const asked: string[] = []
  const server = setupServer(
    http.all('*', ({ request }) => {
      const { host, pathname } = new URL(request.url)
      const [key] = ['authorization', 'x-api-key', 'x-goog-api-key'].flatMap(
        (name) => request.headers.get(name) ?? [],
      )
      asked.push(`${request.method} ${host}${pathname} ${key}`)
      if (host === 'api.groq.com') return new HttpResponse(null, { status: 401 })
      if (host === 'api.deepseek.com') return HttpResponse.error()
      return HttpResponse.json({ data: [{ id: 'claude-sonnet-5-5' }, { id: 'claude-haiku-5-5' }] })
    }),
  )
  server.listen()
  t.after(() => server.close())
  const said: string[] = []
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  const { XAI_API_KEY: _, ...env } = KEYS
  await init({
    file,
    provider: 'anthropic,openai,groq,deepseek,xai,gemini',
    check: true,
    env,
    say: (line) => said.push(line),
  })
  assert.deepEqual(asked, [
    'GET api.anthropic.com/v1/models sk-of-the-operator',
    'GET api.openai.com/v1/models Bearer sk-of-the-operator',
    'GET api.groq.com/openai/v1/models Bearer sk-of-the-operator',
    'GET api.deepseek.com/models Bearer sk-of-the-operator',
    'GET generativelanguage.googleapis.com/v1beta/models sk-of-the-operator',
  ])
  assert.match(said[0]!, /✓ anthropic: the key works$/)
  assert.match(said[1]!, /✓ openai: the key works, but its list does not name gpt-6-sol, gpt-6-luna; /)
  assert.match(said[2]!, /✗ groq: 401; it does not accept the key; check GROQ_API_KEY$/)
  assert.match(said[3]!, /✗ deepseek: /)
  assert.match(said[4]!, /- xai: XAI_API_KEY is not set/)
})
