import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { calcPrice } from '@pydantic/genai-prices'
import fc from 'fast-check'
import { clock } from '../shared/clock.ts'
import { createPricer, newerTables } from './pricing.ts'

const pricing = {
  baseUrls: {
    openai: 'https://api.openai.com/v1',
    deepseek: 'https://api.deepseek.com',
    groq: 'http://127.0.0.1:1',
  },
  own: { 'openai/mine': { input: 2, output: 8, cached_input: 0.5 } },
}
const price = createPricer(pricing)
const tokens = (input: number | null, output: number | null, cached_input: number | null = null) => ({
  input,
  output,
  cached_input,
  cache_write: null,
  reasoning: null,
})

for (const [provider, model] of [
  ['openai', 'gpt-5-mini'],
  ['openai', 'gpt-4o'],
  ['deepseek', 'deepseek-chat'],
  ['groq', 'openai/gpt-oss-120b'],
  ['openai', 'gpt-5.4'],
] as const)
  test(`${provider}/${model} has the table’s price for any token counts (USE-05, USE-06)`, () => {
    fc.assert(
      fc.property(
        fc.nat(2_000_000),
        fc.nat(200_000),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (input, output, part) => {
          const cached = Math.floor(input * part)
          const at = Date.UTC(2026, 10, 21)
          const counts = {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cached,
            cache_write_tokens: 0,
          }
          const newer = newerTables().get(provider)
          const expected =
            (newer && calcPrice(counts, model, { provider: newer, timestamp: new Date(at) })) ??
            calcPrice(counts, model, { providerId: provider, timestamp: new Date(at) })!
          const { usd, price: used } = price({ provider, model }, tokens(input, output, cached), at)
          assert.ok(
            Math.abs(usd! - expected.total_price) <= 1e-9 * Math.max(1, expected.total_price),
            `${usd}, ${expected.total_price}`,
          )
          assert.deepEqual(used?.rates, expected.model_price)
        },
      ),
    )
  })

test('a name that only begins like a model in the table has no price; a name that ends like a model has that model’s price (USE-06)', () => {
  const google = {
    google: 'https://generativelanguage.googleapis.com',
    openrouter: 'https://openrouter.ai/api/v1',
  }
  const price = createPricer({ baseUrls: google, own: {} })
  const isKnown = (provider: string, model: string) =>
    price({ provider, model }, tokens(1_000, 10), 0).usd !== null
  for (const model of [
    'gemini-2.0-flash-lite',
    'gemini-2.0-flash-lite-001',
    'gemini-2.5-pro',
    'x/gemini-2.0-flash-lite',
  ])
    assert.ok(isKnown('google', model), model)
  for (const model of [
    'gemini-2.0-flash-lite/x',
    'gemini-2.0-flash-lite/gemini-2.5-pro',
    'gemini-2.5-pro/x/y',
    'a/gemini-2.5-flash/b',
  ])
    assert.ok(!isKnown('google', model), model)
  for (const model of [
    'openai/gpt-4o-mini',
    'meta-llama/llama-3.1-8b-instruct:free',
    'anthropic/claude-opus-4',
  ])
    assert.ok(isKnown('openrouter', model), model)
})

test('tokens written to a one-hour cache have their own price, with and without tiers (USE-05)', () => {
  for (const model of ['claude-opus-4-5', 'claude-sonnet-4-5']) {
    const counts = { ...tokens(1_000, 10, 100), cache_write: 500, cache_write_1h: 200 }
    const expected = calcPrice(
      {
        input_tokens: 1_000,
        output_tokens: 10,
        cache_read_tokens: 100,
        cache_write_tokens: 500,
        cache_write_1h_tokens: 200,
      },
      model,
      { providerId: 'anthropic' },
    )!
    const { usd } = price({ provider: 'anthropic', model }, counts, clock.now())
    assert.ok(Math.abs(usd! - expected.total_price) < 1e-12, `${usd}, ${expected.total_price}`)
    const shorter = price({ provider: 'anthropic', model }, { ...counts, cache_write_1h: 0 }, clock.now())
    assert.ok(usd! > shorter.usd!)
  }
})

test('the operator’s own price takes precedence over the table', () => {
  const { usd, price: used } = price(
    { provider: 'openai', model: 'mine' },
    tokens(1_000_000, 1_000_000, 500_000),
    0,
  )
  assert.ok(Math.abs(usd! - (1 + 0.25 + 8)) < 1e-9)
  assert.equal(used?.source, 'config')
})

test('unknown or contradictory usage has no cost', () => {
  for (const [model, counts] of [
    ['gpt-5-mini', tokens(null, 5)],
    ['gpt-5-mini', tokens(5, null)],
    ['gpt-5-mini', tokens(5, 5, 6)],
    ['no-such-model', tokens(5, 5)],
  ] as const)
    assert.deepEqual(price({ provider: 'openai', model }, counts, 0).usd, null)
})

test('a price applies only between its dates and at its hours', () => {
  const price = createPricer({ baseUrls: {}, own: {} })
  const at = (provider: string, model: string, time: number, counts: [number, number, number]) =>
    price({ provider, model }, tokens(...counts), time).usd
  const read: [number, number, number] = [50_100, 500, 50_000]
  assert.ok(Math.abs(at('anthropic', 'claude-sonnet-5-5', Date.UTC(2026, 9, 7), read)! - 0.0152) < 1e-9)
  assert.ok(Math.abs(at('anthropic', 'claude-sonnet-5-5', Date.UTC(2026, 9, 8), read)! - 0.0102) < 1e-9)
  const noon = Date.UTC(2026, 10, 21, 8)
  const cost = at('deepseek', 'deepseek-v4-flash', noon, [10_000, 1_000, 6_000])!
  assert.ok(Math.abs(cost - 0.002436) < 1e-9, String(cost))
})

test('the operator can set factors and fees, for a configured price or for the listed price', () => {
  const price = createPricer({
    baseUrls: {},
    own: {
      'openai/gpt-4.1': { service_tier: { scale: 3 }, tools: { code_interpreter: 0.03 } },
      'alpha/a': {
        input: 1,
        output: 2,
        speed: { fast: 4 },
        over: [{ tokens: 1_000, input: 10, output: 20 }],
      },
    },
  })
  const of = (provider: string, model: string, input: number, served: object) =>
    price({ provider, model }, { ...tokens(input, 1_000), served }, 0)
  const scale = of('openai', 'gpt-4.1', 1_000, { service_tier: 'scale', tools: { code_interpreter: 2 } })
  assert.ok(Math.abs(scale.usd! - (3 * (1_000 * 2 + 1_000 * 8)) / 1e6 - 0.06) < 1e-9)
  assert.deepEqual(scale.price?.factors, { 'service_tier scale': 3 })
  assert.deepEqual(scale.price?.fees, { code_interpreter: 0.03 })
  assert.ok(
    Math.abs(of('alpha', 'a', 1_000, { speed: 'fast' }).usd! - (4 * (1_000 * 1 + 1_000 * 2)) / 1e6) < 1e-9,
  )
  assert.ok(Math.abs(of('alpha', 'a', 1_001, {}).usd! - (1_001 * 10 + 1_000 * 20) / 1e6) < 1e-9)
  assert.deepEqual(of('alpha', 'a', 10, { region: 'us' }).missing, ['region'])
})

test('a model has a price by its own name only: six models of this autumn, and none of their possible successors', () => {
  const baseUrls = {
    openai: 'https://api.openai.com/v1',
    anthropic: 'https://api.anthropic.com',
    azure: 'https://mine.openai.azure.com/openai/v1',
    perplexity: 'https://api.perplexity.ai',
  }
  const price = createPricer({ baseUrls, own: {} })
  const costOf = (id: string) => {
    const [provider = '', model = ''] = id.split('/')
    return price({ provider, model }, tokens(100_000, 10_000), Date.UTC(2026, 10, 28)).usd
  }
  for (const [id, usd] of [
    ['openai/gpt-6.1-sol', 0.3],
    ['openai/gpt-6.1-terra', 0.15],
    ['openai/gpt-6-rosalind', 2.25],
    ['anthropic/claude-fable-5-2', 1.2],
    ['anthropic/claude-fable-5-2-20261109', 1.2],
    ['openai/gpt-6.2-sol', 0.3],
    ['openai/gpt-6.2-astra', 1.2],
    ['azure/gpt-6.1-sol', 0.3],
    ['openai/gpt-realtime-2.1', 0.64],
    ['perplexity/sonar', 0.122],
  ] as const)
    assert.ok(Math.abs((costOf(id) ?? -1) - usd) < 1e-9, `${id}: ${costOf(id)}`)
  for (const id of [
    'openai/gpt-6.3-sol',
    'openai/gpt-6.1-luna',
    'anthropic/claude-fable-5-3',
    'openai/gpt-6.2-astra-law',
  ])
    assert.equal(costOf(id), null, id)
})

test('calls to a flat-rate provider count as paid by the subscription', () => {
  const price = createPricer({ baseUrls: {}, own: {}, flat: new Set(['openai']) })
  const { usd, flat } = price({ provider: 'openai', model: 'gpt-4.1' }, tokens(1_000, 900), 0)
  assert.ok(Math.abs(usd! - 0.0092) < 1e-9)
  assert.equal(flat, true)
})

test('names in answers take a bounded part of the memory, however long they are', () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const price = createPricer(pricing)
  const held = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = held()
  for (let n = 0; n < 500; n++)
    price(
      { provider: 'openai', model: 'gpt-4o' },
      tokens(1, 1),
      clock.now(),
      `claude-${n}-${'x'.repeat(500_000)}`,
    )
  assert.ok(held() - before < 20 * 2 ** 20, `${held() - before} bytes`)
})
