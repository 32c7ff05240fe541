// Limits and capabilities in lists of models, in each client's format.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { testGateway } from '../test/test-gateway.ts'

const CONFIG = `models:
  alpha/of-nobody: { capabilities: { images: true } }
  alpha/mine: { context: 32000, accepts: { output: 4000, efforts: [low, high], thinking: [adaptive, 'off'] }, capabilities: { images: false } }
routes:
  auto: { targets: [ { model: alpha/claude-opus-5-5 }, { model: alpha/claude-haiku-4-5 } ] }
  doubtful: { targets: [ { model: alpha/claude-opus-5-5 }, { model: alpha/of-nobody } ] }
`
const start = (t: Parameters<typeof testGateway>[0]) =>
  testGateway(t, {
    providers: { alpha: answer() },
    dialects: { alpha: ['messages', 'chat'] },
    config: CONFIG,
  })

test("the list in OpenAI's format has each model's limits, and for each route the limits that all its targets share", async (t) => {
  const { get } = await start(t)
  const { data } = (await get('/v1/models')).json
  const limits = Object.fromEntries(
    data.map(({ id, context_window, max_completion_tokens }: any) => [
      id,
      [context_window, max_completion_tokens],
    ]),
  )
  assert.deepEqual(limits, {
    auto: [1_000_000, 64_000],
    doubtful: [undefined, undefined],
    'alpha/claude-haiku-4-5': [200_000, 64_000],
    'alpha/claude-opus-5-5': [1_000_000, 128_000],
    'alpha/mine': [32_000, 4_000],
    'alpha/of-nobody': [undefined, undefined],
  })
  const one = (await get('/v1/models/alpha/claude-opus-5-5')).json
  assert.equal(one.context_window, 1_000_000)
})

test("the list in Anthropic's format has limits, thinking types and effort levels, or null if nothing is known", async (t) => {
  const { get } = await start(t)
  const { data } = (await get('/v1/models', { headers: { 'anthropic-version': '2023-06-01' } })).json
  const of = (id: string) => data.find((each: any) => each.id === id)
  const mine = of('alpha/mine')
  assert.deepEqual([mine.max_input_tokens, mine.max_tokens], [32_000, 4_000])
  assert.deepEqual(mine.capabilities, {
    image_input: { supported: false },
    effort: {
      supported: true,
      low: { supported: true },
      medium: { supported: false },
      high: { supported: true },
      xhigh: { supported: false },
      max: { supported: false },
    },
    thinking: {
      supported: true,
      types: {
        adaptive: { supported: true },
        between_tools: { supported: false },
        disabled: { supported: true },
        enabled: { supported: false },
      },
    },
  })
  const { max_input_tokens, max_tokens, capabilities } = of('doubtful')
  assert.deepEqual([max_input_tokens, max_tokens, capabilities], [null, null, null])
  assert.equal(of('auto').capabilities.effort.supported, false, 'Haiku 4.5 takes no effort')
})

test("the list in Google's format has limits and thinking", async (t) => {
  const { get } = await start(t)
  const headers = { 'x-goog-api-client': 'test' }
  for (const path of ['/v1beta/models', '/v1/models']) {
    const { models } = (await get(path, { headers })).json
    const { inputTokenLimit, outputTokenLimit, thinking } = models.find(
      (each: any) => each.name === 'models/alpha/mine',
    )
    assert.deepEqual([inputTokenLimit, outputTokenLimit, thinking], [32_000, 4_000, true], path)
    const unknown = models.find((each: any) => each.name === 'models/doubtful')
    assert.ok(!('inputTokenLimit' in unknown) && !('thinking' in unknown))
  }
})

test("the list in Codex's format is empty but valid, so that Codex keeps its own facts; each list has an ETag", async (t) => {
  const { get } = await start(t)
  const list = await get('/v1/models?client_version=0.169.0')
  assert.deepEqual(list.json, { models: [] })
  const etag = list.headers.get('etag')!
  assert.match(etag, /^"[\w-]{22}"$/)
  const again = await get('/v1/models?client_version=0.169.0', { headers: { 'if-none-match': etag } })
  assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag])
  const usual = await get('/v1/models', { headers: { 'if-none-match': etag } })
  assert.equal(usual.status, 200)
  assert.notEqual(usual.headers.get('etag'), etag)
})
