// Routing before and after the strategy: needs, rules, cooldown, sessions, and the forecast.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { STRATEGIES } from '../config/schema.ts'
import { targetId } from '../core/call.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import type { Router, RoutingInput } from './router.ts'
import { input, pick, routerOf, TARGETS, target } from './test-router.ts'

const decision = (router: Router, call: RoutingInput) => router.route('auto', call)!.route.decision

/** Routes a call and lets its first candidate serve it. */
function serve(router: Router, call: RoutingInput, by = 0): string {
  const { route, tracker } = router.route('auto', call)!
  for (const each of route.candidates.slice(0, by + 1)) tracker.attempt(each, 0)
  tracker.answered(1)
  tracker.over()
  return targetId(route.candidates[by]!)
}

test('when all targets are in cooldown, the target whose cooldown ends first is tried, and is ready once its cooldown ends (ROUTE-09)', () => {
  let time = 0
  const router = routerOf('priority', { now: () => time })
  for (const [index, model] of ['a', 'b', 'c', 'never'].entries())
    router.cool(target(model), 4_000 - index * 1_000)
  assert.equal(pick(router), 'p/never')
  assert.equal(decision(router, input()).cause, 'all_cooling')
  time = 1_001
  assert.deepEqual(
    router.route('auto', input())!.route.candidates.map(({ model }) => model),
    ['never', 'c', 'b', 'a'],
  )
})

test('no target is lost if the clock advances between two reads of the clock', () => {
  let time = 0
  const router = routerOf('priority', { now: () => time++ })
  for (const { model } of TARGETS) router.cool(target(model.slice(2)), 10)
  for (let n = 0; n < 30; n++)
    assert.equal(router.route('auto', input())!.route.candidates.length, TARGETS.length)
})

test('sticky: a session stays with the target that first served it, moves with a fallback, and is not shared with another key', () => {
  const router = routerOf('round-robin', { route: { sticky: 'session' } })
  const session = input({}, 's')
  assert.equal(serve(router, session), 'p/a')
  assert.equal(serve(router, input({}, 't')), 'p/b')
  for (let n = 0; n < 2; n++) assert.equal(serve(router, session), 'p/a')
  assert.deepEqual(decision(router, session), { cause: 'sticky', skipped: [] })
  assert.equal(pick(router, input({}, 's', 'other-key')), 'p/c', 'those that stay take no turn')
  assert.equal(pick(router), 'p/never', 'nor does a call without a session stay')

  assert.equal(serve(router, session, 1), 'p/b', 'a failed and was not cooled; b served')
  assert.equal(pick(router, session), 'p/b')
  router.cool(target('b'), 1_000)
  const elsewhere = serve(router, session)
  assert.notEqual(elsewhere, 'p/b')
  assert.equal(pick(router, session), elsewhere)
})

test('sticky: if several calls in a session start at the same time, the first successful call sets the target, and failed calls do not', () => {
  const router = routerOf('round-robin', { route: { sticky: 'session' } })
  const session = input({}, 's')
  const [one, two, three] = [1, 2, 3].map(() => router.route('auto', session)!)
  for (const { route, tracker } of [one!, two!, three!]) tracker.attempt(route.candidates[0], 0)
  three!.tracker.over()
  two!.tracker.answered(1)
  one!.tracker.answered(2)
  assert.equal(pick(router, session), 'p/b')
})

test('sticky: up to twenty thousand sessions are stored, and the least recent sessions are dropped', () => {
  const router = routerOf('round-robin', { route: { sticky: 'session' } })
  for (let n = 0; n <= 20_000; n++) serve(router, input({}, `s${n}`))
  assert.equal(decision(router, input({}, 's0')).cause, 'round-robin')
  assert.equal(decision(router, input({}, 's20000')).cause, 'sticky')
})

const RULES = [
  { when: { images: true }, use: { target: 'p/a' } },
  { when: { tools: true, effort: ['high', 'xhigh'] }, use: { tier: 'premium' } },
  { when: { input_tokens: { over: 1000, under: 5000 } }, use: { tier: 'balanced' } },
  { when: { effort: 'low', tools: false }, use: { tier: 'cheap' } },
]

const BY_RULE: readonly [string, Partial<RequestTraits>, string, string][] = [
  ['nothing matches', { effort: 'medium' }, 'priority', 'p/a'],
  ['the first match wins', { images: true, tools: true, effort: 'high' }, 'rule 1: images', 'p/a'],
  [
    'all conditions must hold',
    { tools: true, effort: 'xhigh' },
    'rule 2: tools, effort high or xhigh',
    'p/a',
  ],
  ['one condition is not enough', { tools: true }, 'priority', 'p/a'],
  [
    'a length between two bounds',
    { inputTokens: 1001 },
    'rule 3: input_tokens over 1000, input_tokens under 5000',
    'p/c',
  ],
  ['a bound is outside', { inputTokens: 1000 }, 'priority', 'p/a'],
  ['so is the other', { inputTokens: 5000 }, 'priority', 'p/a'],
  ['a tier, and no tools', { effort: 'low' }, 'rule 4: no tools, effort low', 'p/b'],
]

for (const [name, traits, cause, first] of BY_RULE)
  test(`rules: ${name}: ${cause}`, () => {
    const router = routerOf('priority', { route: { rules: RULES } })
    assert.equal(decision(router, input(traits)).cause, cause)
    assert.equal(pick(router, input(traits)), first)
  })

test('rules: a call without a purpose is a main call', () => {
  const router = routerOf('priority', {
    route: { rules: [{ when: { purpose: 'main' }, use: { target: 'p/b' } }] },
  })
  assert.equal(pick(router, input({})), 'p/b')
  assert.equal(pick(router, input({ purpose: 'background' })), 'p/a')
})

test('rules: a target excluded by a rule is skipped and never used as a fallback; each selection of targets has its own turns and sessions', () => {
  const router = routerOf('round-robin', { route: { rules: RULES, sticky: 'session' } })
  const cheap = input({ effort: 'low' }, 's')
  const { route } = router.route('auto', cheap)!
  assert.deepEqual(route.candidates.map(targetId), ['p/b', 'p/never'])
  assert.deepEqual(route.decision.skipped, [
    { target: 'p/a', reason: 'rule 4: no tools, effort low' },
    { target: 'p/c', reason: 'rule 4: no tools, effort low' },
  ])
  assert.equal(pick(router), 'p/a')
  assert.equal(serve(router, cheap), 'p/never')
  assert.equal(serve(router, input({}, 's')), 'p/b')
  assert.equal(decision(router, cheap).cause, 'rule 4: no tools, effort low, sticky')
  assert.deepEqual([pick(router, cheap), pick(router, input({}, 's'))], ['p/never', 'p/b'])
})

const MODELS = {
  'p/a': { capabilities: { tools: false }, context: 100 },
  'p/b': { capabilities: { images: false }, tier: 'ignored, because the target has one' },
  'p/never': { context: 50 },
}

test('capabilities: only targets that can serve a call are candidates, and the rest are skipped with the reason (ROUTE-12)', () => {
  const router = routerOf('priority', { models: MODELS })
  const traits = { tools: true, images: true, inputTokens: 80 }
  const { candidates, decision } = router.route('auto', input(traits))!.route
  assert.deepEqual(candidates.map(targetId), ['p/c'])
  assert.deepEqual(decision, {
    cause: 'priority',
    skipped: [
      { target: 'p/a', reason: 'no tools' },
      { target: 'p/b', reason: 'no images' },
      { target: 'p/never', reason: 'context of 50 tokens too short' },
    ],
  })
  assert.equal(pick(router, input({ inputTokens: 100 })), 'p/a', 'as long as the context is not too long')
})

test('capabilities: a rule without capable targets does not apply, and a call without capable targets is refused (ROUTE-12)', () => {
  const rules = [
    { when: { tools: true }, use: { target: 'p/a' } },
    { when: { tools: true }, use: { tier: 'cheap' } },
  ]
  const router = routerOf('priority', { models: MODELS, route: { rules } })
  assert.equal(decision(router, input({ tools: true })).cause, 'rule 2: tools')
  const nobody = routerOf('priority', { models: { ...MODELS, 'p/c': { context: 1 } } })
  assert.throws(() => nobody.route('auto', input({ images: true, tools: true, inputTokens: 200 })), {
    code: 'no_target_available',
    status: 503,
    message:
      'No target of "auto" has what this call needs (p/a: no tools; p/b: no images; p/c: context of 1 tokens too short; p/never: context of 50 tokens too short). Ask for a model that has it.',
  })
})

test('a direct id is never rerouted or refused, and has its model’s tier (ROUTE-02, ROUTE-12)', () => {
  const router = routerOf('priority', { models: { 'p/a': { ...MODELS['p/a'], tier: 'mine' } } })
  const { route } = router.route('p/a', input({ tools: true, inputTokens: 10_000 }))!
  assert.deepEqual([route.candidates, route.strategy], [[{ ...target('a'), tier: 'mine' }], 'direct'])
  assert.equal(router.route('nobody/a', input()), null)
})

test('a route without rules and limits does not inspect its calls', () => {
  const router = routerOf('priority')
  const call = {
    ...input(),
    traits: new Proxy({} as RequestTraits, { get: () => assert.fail('the shape was read') }),
  }
  assert.equal(pick(router, call), 'p/a')
})

test('a resolution names the conditions of its forecast and the reason for each skipped target (ROUTE-11)', () => {
  const of = (strategy: string, route: object, models = {}) =>
    routerOf(strategy, { route, models }).resolve('auto')!
  const facts = ({ deterministic, depends_on }: ReturnType<typeof of>) => [deterministic, depends_on]
  assert.deepEqual(facts(of('priority', {})), [true, []])
  assert.deepEqual(facts(of('weighted', {})), [false, []])
  assert.deepEqual(facts(of('priority', { sticky: 'session' })), [false, ['session']])
  assert.deepEqual(facts(of('priority', { rules: RULES })), [false, ['shape']])
  assert.deepEqual(facts(of('priority', {}, MODELS)), [false, ['shape']])
  assert.deepEqual(facts(of('fastest', {})), [false, ['load']])
  assert.deepEqual(facts(of('cheapest', {})), [false, ['session', 'shape']])
  const all = of('least-busy', { rules: RULES, sticky: 'session' })
  assert.deepEqual(facts(all), [false, ['session', 'shape', 'load']])

  const short = [{ when: { input_tokens: { under: 500 } }, use: { tier: 'cheap' } }]
  const router = routerOf('round-robin', { route: { rules: short } })
  router.cool(target('a'), 60_000)
  assert.deepEqual(
    router
      .resolve('auto')!
      .candidates.map(({ model, probability, state, reason }) => [model, probability, state, reason]),
    [
      ['a', 0, 'cooling', 'failed; passed over until 1970-01-01T00:01:00.000Z'],
      ['b', 1, 'ready', null],
      ['c', 0, 'ready', 'rule 1: input_tokens under 500'],
      ['never', 0, 'ready', null],
    ],
  )
  router.cool(target('b'), 60_000)
  const { resolved_model, deterministic, tier } = router.resolve('auto')!
  assert.deepEqual([resolved_model, deterministic, tier], ['never', false, 'cheap'])
})

test('for any call, each target of the route is either a candidate or skipped, exactly once, and no other targets appear (ROUTE-04)', () => {
  const shapes = fc.record({
    tools: fc.boolean(),
    images: fc.boolean(),
    effort: fc.constantFrom(null, 'low', 'high', 'xhigh', 'odd'),
    inputTokens: fc.nat(6_000),
  })
  const call = fc.tuple(shapes, fc.constantFrom(null, 's', 't'), fc.nat(5))
  fc.assert(
    fc.property(fc.constantFrom(...STRATEGIES), fc.array(call), (strategy, calls) => {
      const router = routerOf(strategy, { models: MODELS, route: { rules: RULES, sticky: 'session' } })
      for (const [traits, session, fate] of calls) {
        const { route, tracker } = router.route('auto', input(traits, session))!
        const ids = route.candidates.map(targetId)
        const skipped = route.decision.skipped.map((each) => each.target)
        assert.deepEqual([...new Set([...ids, ...skipped])].sort(), TARGETS.map(({ model }) => model).sort())
        assert.equal(new Set(ids).size, ids.length)
        tracker.attempt(route.candidates[0], 0)
        if (fate > 1) tracker.answered(fate)
        else router.cool(route.candidates[0], fate)
        if (fate < 5) tracker.over()
      }
    }),
  )
})
