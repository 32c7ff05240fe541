// Properties of every strategy, and the promises of each strategy.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { STRATEGIES } from '../config/schema.ts'
import { type Target, targetId } from '../core/call.ts'
import { seeded } from '../shared/chance.ts'
import { IS_FULL } from '../test/test-size.ts'
import { strategies } from './table.ts'
import { input, pick, routerOf, TARGETS, target } from './test-router.ts'

const IDS = TARGETS.map(({ model }) => model)
const N = 20_000

/** Number of open attempts at each target, so that the load matters. */
const LOAD: Readonly<Record<string, number>> = { a: 2, b: 0, c: 1, never: 0 }

function loaded(...[strategy, setup]: Parameters<typeof routerOf>): ReturnType<typeof routerOf> {
  const router = routerOf(strategy, setup)
  for (const [model, open] of Object.entries(LOAD))
    for (let n = 0; n < open; n++) router.route(`p/${model}`, input())
  return router
}

for (const strategy of STRATEGIES)
  test(`${strategy}: over ${N} picks, each target’s share is within 3 sigma of its share in resolve, and exact if the share in resolve is certain (ROUTE-10, ROUTE-11)`, () => {
    const router = loaded(strategy, { seed: 8 })
    const { candidates } = router.resolve('auto')!
    const expected = candidates.map(() => 0)
    const counts = candidates.map(() => 0)
    for (let n = 0; n < N; n++) {
      for (const [index, { probability }] of router.resolve('auto')!.candidates.entries())
        expected[index]! += probability
      counts[IDS.indexOf(pick(router))]!++
    }
    for (const [index, { probability }] of candidates.entries()) {
      const p = expected[index]! / N
      const sigma = strategies[strategy].probabilities ? Math.sqrt(N * p * (1 - p)) : 0
      assert.ok(
        Math.abs(counts[index]! - N * p) <= 3 * sigma,
        `${IDS[index]}: ${counts[index]} of ${N}, chance ${probability}`,
      )
    }
  })

test('a resolution reports the weights as shares for the weighted strategy, and equal shares for the random strategy (ROUTE-11)', () => {
  const shares = (strategy: string) =>
    routerOf(strategy)
      .resolve('auto')!
      .candidates.map(({ probability }) => probability)
  assert.deepEqual(shares('weighted'), [0.5, 0.3, 0.2, 0])
  assert.deepEqual(shares('random'), [0.25, 0.25, 0.25, 0.25])
})

test('random: all orders are equally likely, within 3 sigma (ROUTE-10)', () => {
  const router = routerOf('random', { seed: 3 })
  const orders = new Map<string, number>()
  for (let n = 0; n < N; n++) {
    const order = router.route('auto', input())!.route.candidates.map(({ model }) => model)
    orders.set(order.join(), (orders.get(order.join()) ?? 0) + 1)
  }
  assert.equal(orders.size, 24)
  const sigma = Math.sqrt((N / 24) * (23 / 24))
  // In six of a hundred runs, one of 24 shares is outside 3 sigma. With this seed, none is.
  for (const [order, count] of orders) assert.ok(Math.abs(count - N / 24) <= 3 * sigma, `${order}: ${count}`)
})

test('round-robin: the rotation is exact over 20,000 picks; priority always begins with the first target (ROUTE-10)', () => {
  const turning = routerOf('round-robin')
  const fixed = routerOf('priority')
  for (let n = 0; n < N; n++) {
    assert.equal(pick(turning), IDS[n % 4])
    assert.equal(pick(fixed), 'p/a')
  }
})

test('cheapest: targets are ordered by price, unknown prices come last, and equal prices keep the table’s order (ROUTE-10)', () => {
  const order = (models: object) =>
    routerOf('cheapest', { models })
      .route('auto', input())!
      .route.candidates.map(({ model }) => model)
  assert.deepEqual(order({}), ['never', 'b', 'a', 'c'])
  const one = { price: { input: 1, output: 2 } }
  assert.deepEqual(order({ 'p/a': one }), ['never', 'a', 'b', 'c'])
  assert.deepEqual(order({ 'p/a': {}, 'p/c': one }), ['never', 'b', 'c', 'a'])
  // With three input tokens for each output token, 3 × 2 + 1 × 1 is more than 3 × 1 + 1 × 2.
  assert.deepEqual(order({ 'p/a': { price: { input: 2, output: 1 } }, 'p/never': {} }), [
    'b',
    'a',
    'c',
    'never',
  ])
})

test('fastest: each target is tried once, then the fastest is used, and a slow target is tried again after five minutes (ROUTE-10)', () => {
  let time = 0
  const router = routerOf('fastest', { now: () => time })
  const call = (ms: (model: string) => number) => {
    const { route, tracker } = router.route('auto', input())!
    const [{ model }] = route.candidates
    tracker.attempt(route.candidates[0], 1_000)
    tracker.answered(1_000 + ms(model))
    tracker.over()
    return model
  }
  const usual = (model: string) => ({ a: 300, b: 100, c: 200, never: 400 })[model]!
  const first = [1, 2, 3, 4].map(() => call(usual))
  assert.deepEqual(first, ['a', 'b', 'c', 'never'])
  assert.deepEqual(
    router.route('auto', input())!.route.candidates.map(({ model }) => model),
    ['b', 'c', 'a', 'never'],
  )
  // One slow answer among many counts little: 100 + 0.2 × 400 is 180. A second slow answer makes 244.
  assert.equal(
    call(() => 500),
    'b',
  )
  assert.equal(
    call(() => 500),
    'b',
  )
  assert.equal(call(usual), 'c')
  time = 5 * 60_000
  assert.equal(call(usual), 'a', 'measured too long ago, so not known any more')
})

test('fastest: the time after the first event counts for as many tokens as the route’s calls usually have (ROUTE-10)', () => {
  const orderFor = (output: number) => {
    const router = routerOf('fastest')
    for (const [model, first, each] of [
      ['a', 100, 10],
      ['b', 1_000, 1],
      ['c', 5_000, 0],
      ['never', 9_000, 0],
    ] as const) {
      const { route, tracker } = router.route('auto', input())!
      assert.equal(route.candidates[0].model, model)
      tracker.attempt(route.candidates[0], 0)
      tracker.answered(first)
      tracker.served(
        ...([route.candidates[0], null, { input: 10, output, cached_input: 0, cache_write: 0 }] as const),
        first + each * output,
      )
      tracker.over()
    }
    return router
      .route('auto', input())!
      .route.candidates.map(({ model }) => model)
      .join(' ')
  }
  assert.equal(orderFor(20), 'a b c never')
  assert.equal(orderFor(400), 'b a c never')
  assert.equal(orderFor(2_000), 'b c never a')
})

test('fastest: while a target’s first answer is pending, untried targets are chosen, and then the least busy (ROUTE-10)', () => {
  const router = routerOf('fastest')
  const open = [1, 2, 3, 4, 5].map(() => router.route('auto', input())!)
  assert.deepEqual(
    open.map(({ route }) => route.candidates[0].model),
    ['a', 'b', 'c', 'never', 'a'],
  )
  open[2]!.tracker.attempt(target('c'), 0)
  open[2]!.tracker.answered(900)
  assert.equal(pick(router), 'p/c', 'slow or not, it is the only one that is known to answer')
})

test('fastest: an unanswered attempt does not count as a measurement, and the next attempt is made half a minute later (ROUTE-10)', () => {
  let time = 0
  const router = routerOf('fastest', { now: () => time })
  const fail = () => {
    const { route, tracker } = router.route('auto', input())!
    tracker.attempt(route.candidates[0], 5)
    tracker.over()
    return route.candidates[0].model
  }
  assert.deepEqual([fail(), fail(), fail(), fail(), fail()], ['a', 'b', 'c', 'never', 'a'])
  const { route, tracker } = router.route('auto', input())!
  tracker.attempt(route.candidates[1]!, 5)
  tracker.answered(100_000)
  assert.equal(pick(router), 'p/b', 'any answer is better than none')
  time = 30_000
  assert.equal(pick(router), 'p/a')
})

test('least-busy: of the drawn targets, the one with fewer open attempts comes first; the busiest target never does (ROUTE-10)', () => {
  const router = loaded('least-busy')
  const { candidates, depends_on, deterministic } = router.resolve('auto')!
  // Of six pairs, b and never win two each and share one. c wins one pair, a none.
  assert.deepEqual(
    candidates.map(({ probability }) => probability),
    [0, 5 / 12, 2 / 12, 5 / 12],
  )
  assert.deepEqual([depends_on, deterministic], [['load'], false])
})

test('least-busy: calls that stay open are distributed evenly (ROUTE-10)', () => {
  const router = routerOf('least-busy', { seed: 5 })
  const counts = new Map<string, number>()
  for (let n = 0; n < 400; n++) {
    const { model } = router.route('auto', input())!.route.candidates[0]
    counts.set(model, (counts.get(model) ?? 0) + 1)
  }
  for (const [model, count] of counts) assert.ok(Math.abs(count - 100) <= 3, `${model}: ${count} of 400`)
})

for (const strategy of STRATEGIES)
  test(`${strategy}: the candidates are a permutation, the same seed gives the same picks, and a cooling target is never first while another is ready (ROUTE-09, ROUTE-10)`, () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(20), fc.subarray(TARGETS), (seed, before, cold) => {
        const [router, twin] = [loaded(strategy, { seed }), loaded(strategy, { seed })]
        for (let n = 0; n < before; n++) assert.equal(pick(router), pick(twin))
        for (const { model } of cold) router.cool(target(model.slice(2)), 1_000)
        const foretold = router.resolve('auto')!
        assert.deepEqual(router.resolve('auto'), foretold, 'resolving moves nothing (PURE-04)')
        const { candidates } = router.route('auto', input())!.route
        assert.deepEqual(candidates.map(targetId).sort(), [...IDS].sort())
        if (cold.length < TARGETS.length)
          assert.ok(!cold.some(({ model }) => model === targetId(candidates[0])))
        if (foretold.deterministic || !strategies[strategy].probabilities)
          assert.equal(`${foretold.provider}/${foretold.resolved_model}`, targetId(candidates[0]))
        const total = foretold.candidates.reduce((sum, { probability }) => sum + probability, 0)
        assert.ok(Math.abs(total - 1) < 1e-9)
      }),
      { numRuns: IS_FULL ? 100 : 10 },
    )
  })

for (const strategy of STRATEGIES)
  test(`${strategy}: for any targets, load, latencies and prices, the order is a permutation; only strategies that declare random numbers, load or costs use them`, () => {
    const facts = fc.record({
      weight: fc.nat(100),
      open: fc.nat(5),
      latency: fc.constantFrom(null, Infinity, 0, 100, 250.5),
      price: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    })
    const { order, probabilities, dependsOnLoad, readsCosts } = strategies[strategy]
    fc.assert(
      fc.property(
        fc.array(facts, { minLength: 1, maxLength: 12 }),
        fc.nat(),
        fc.integer(),
        (all, turn, seed) => {
          const targets: Target[] = all.map(({ weight }, n) => ({ ...target(`m${n}`), weight }))
          const of = (each: Target) => all[targets.indexOf(each)]!
          const known = {
            turn,
            open: (each: Target) => (dependsOnLoad ? of(each).open : assert.fail('looked at load')),
            latency: (each: Target) => (dependsOnLoad ? of(each).latency : assert.fail('looked at load')),
            price: (each: Target) => (readsCosts ? of(each).price : assert.fail('looked at costs')),
          }
          const never = () => assert.fail('drew by chance')
          const ordered = order(targets, { ...known, random: probabilities ? seeded(seed) : never })
          assert.deepEqual(new Set(ordered), new Set(targets))
          assert.equal(ordered.length, targets.length)
          const chances = probabilities?.(targets, known)
          if (chances) {
            assert.ok(Math.abs(chances.reduce((sum, each) => sum + each, 0) - 1) < 1e-9)
            assert.ok(chances[targets.indexOf(ordered[0]!)]! > 0, 'what is picked was possible')
          }
        },
      ),
    )
  })
