import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { targetId } from '../call.ts'
import { parseConfig } from '../config.ts'
import { createRouter, type Router } from './router.ts'

const TARGETS = [
  { model: 'p/a', weight: 5 },
  { model: 'p/b', weight: 3 },
  { model: 'p/c', weight: 2 },
  { model: 'p/never', weight: 0 },
]

/** A random number generator that can be repeated (mulberry32). */
function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

function routerOf(strategy: string, { seed = 1, now = (): number => 0 } = {}): Router {
  const text = JSON.stringify({
    providers: { p: { api: 'openai', base_url: 'http://127.0.0.1:1' } },
    routes: { auto: { strategy, targets: TARGETS } },
  })
  return createRouter(parseConfig(text, 'test', { env: {} }).config, { now, random: seeded(seed) })
}

const pick = (router: Router): string => targetId(router.route('auto')!.candidates[0])

test('weighted: over 20,000 picks each share is within 3 sigma of its weight, and resolve says the same (ROUTE-10, ROUTE-11)', () => {
  const router = routerOf('weighted', { seed: 7 })
  const n = 20_000
  const counts = new Map<string, number>()
  for (let i = 0; i < n; i++) {
    const target = pick(router)
    counts.set(target, (counts.get(target) ?? 0) + 1)
  }
  const chances = router.resolve('auto')!.candidates
  for (const [index, { model, weight }] of TARGETS.entries()) {
    const p = weight / 10
    assert.equal(chances[index]!.probability, p)
    const sigma = Math.sqrt(n * p * (1 - p))
    assert.ok(
      Math.abs((counts.get(model) ?? 0) - n * p) <= 3 * sigma,
      `${model}: ${counts.get(model)} of ${n}`,
    )
  }
})

test('round-robin: the rotation is exact over 20,000 picks; priority always begins with the first (ROUTE-10)', () => {
  const turning = routerOf('round-robin')
  const fixed = routerOf('priority')
  for (let i = 0; i < 20_000; i++) {
    assert.equal(pick(turning), TARGETS[i % 4]!.model)
    assert.equal(pick(fixed), 'p/a')
  }
})

for (const strategy of ['priority', 'weighted', 'round-robin'])
  test(`${strategy}: the candidates are a permutation, the same seed picks the same, what cools is never first while another is ready`, () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(20), fc.subarray(TARGETS), (seed, before, cold) => {
        const [router, twin] = [routerOf(strategy, { seed }), routerOf(strategy, { seed })]
        for (let i = 0; i < before; i++) assert.equal(pick(router), pick(twin))
        for (const { model } of cold)
          router.cool({ provider: 'p', model: model.slice(2), tier: null, weight: 1 }, 1_000)
        const foretold = router.resolve('auto')!
        const { candidates } = router.route('auto')!
        assert.deepEqual(candidates.map(targetId).sort(), TARGETS.map(({ model }) => model).sort())
        if (cold.length < TARGETS.length)
          assert.ok(!cold.some(({ model }) => model === targetId(candidates[0])))
        if (foretold.deterministic)
          assert.equal(`${foretold.provider}/${foretold.resolved_model}`, targetId(candidates[0]))
        const total = foretold.candidates.reduce((sum, { probability }) => sum + probability, 0)
        assert.ok(Math.abs(total - 1) < 1e-9)
      }),
    )
  })

test('when all are cooling, the one whose time ends first is tried; afterwards it is ready again', () => {
  let time = 0
  const router = routerOf('priority', { now: () => time })
  for (const [index, model] of ['a', 'b', 'c', 'never'].entries())
    router.cool({ provider: 'p', model, tier: null, weight: 1 }, 4_000 - index * 1_000)
  assert.equal(pick(router), 'p/never')
  assert.equal(router.route('auto')!.decision.cause, 'all_cooling')
  time = 1_001
  assert.deepEqual(
    router.route('auto')!.candidates.map(({ model }) => model),
    ['never', 'c', 'b', 'a'],
  )
})
