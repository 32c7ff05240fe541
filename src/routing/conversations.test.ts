// Conversations stay with the target that has cached their prompt. Moves lose cached tokens.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { targetId } from '../core/call.ts'
import { Conversations } from './conversations.ts'
import type { Router, RoutingInput } from './router.ts'
import { input, pick, routerOf, target } from './test-router.ts'

const said = (opening: string, inputTokens = 2_000) => input({ opening, inputTokens })

/**
 * Routes a call and lets its first candidate serve it. Returns the target and the number of lost cached
 * tokens.
 */
function serve(router: Router, call: RoutingInput, tokens: object = {}): [string, number | null] {
  const { route, tracker } = router.route('auto', call)!
  const [first] = route.candidates
  tracker.attempt(first, 0)
  tracker.answered(1)
  const lost = tracker.served(
    first,
    null,
    { input: 2_000, cached_input: 0, cache_write: 2_000, ...tokens },
    2,
  )
  tracker.over()
  return [targetId(first), lost]
}

test('`sticky: prefix` keeps calls with the same opening at one target, separately for each key', () => {
  const router = routerOf('round-robin', { route: { sticky: 'prefix' } })
  assert.equal(serve(router, said('one'))[0], 'p/a')
  assert.equal(serve(router, said('two'))[0], 'p/b')
  for (let n = 0; n < 3; n++) assert.equal(serve(router, said('one'))[0], 'p/a')
  assert.equal(router.route('auto', said('one'))!.route.decision.cause, 'sticky')
  assert.equal(pick(router, { ...said('one'), keyName: 'another' }), 'p/c')
  assert.equal(pick(routerOf('round-robin', { route: { sticky: 'session' } }), said('one')), 'p/a')
})

test('`sticky: prefix` uses the session if there is one', () => {
  const router = routerOf('round-robin', { route: { sticky: 'prefix' } })
  const inSession = (opening: string) => ({ ...said(opening), sessionId: 's' })
  assert.equal(serve(router, inSession('one'))[0], 'p/a')
  assert.equal(serve(router, inSession('two'))[0], 'p/a')
  assert.equal(serve(router, said('one'))[0], 'p/b')
})

test('`sticky: prefix` does not fix a call’s target if the call is too short for any provider to cache, or has no opening', () => {
  const router = routerOf('round-robin', { route: { sticky: 'prefix' } })
  for (const call of [said('one', 1_023), input({ inputTokens: 9_000 })])
    assert.notEqual(serve(router, call)[0], serve(router, call)[0])
})

test('`sticky: prefix` lasts as long as the cache: five minutes after the last call, the provider’s configured time, or an hour if reported', () => {
  let time = 0
  const router = routerOf('round-robin', { route: { sticky: 'prefix' }, now: () => time })
  const minute = 60_000
  assert.equal(serve(router, said('one'))[0], 'p/a')
  for (let n = 0; n < 3; n++) {
    time += 4 * minute
    assert.equal(serve(router, said('one'))[0], 'p/a', 'each call renews it')
  }
  time += 6 * minute
  assert.deepEqual(serve(router, said('one')), ['p/b', null], 'nothing is lost that was gone')
  serve(router, said('one'), { cache_write_1h: 2_000 })
  time += 50 * minute
  assert.equal(serve(router, said('one'))[0], 'p/b')
})

test('the tokens lost by a move are the conversation’s cached tokens that the call could have used but did not find', () => {
  const router = routerOf('priority', { route: { sticky: 'prefix' } })
  const moveTo = (model: string, tokens: object) => {
    for (const other of ['a', 'b', 'c', 'never']) if (other !== model) router.cool(target(other), 1_000)
    const { route, tracker } = router.route('auto', said('one'))!
    const at = route.candidates.find((each) => each.model === model)!
    tracker.attempt(at, 0)
    tracker.answered(1)
    tracker.over()
    return tracker.served(at, null, { input: 3_000, cached_input: 0, cache_write: 0, ...tokens }, 2)
  }
  assert.equal(moveTo('a', { cached_input: 1_500, cache_write: 500 }), null, 'the first call')
  assert.equal(moveTo('b', { cache_write: 3_000 }), 2_000)
  assert.equal(moveTo('b', { cached_input: 3_000 }), null, 'it stayed')
  assert.equal(moveTo('a', { cached_input: 2_900 }), 100, 'most of it was cached there, too')
  assert.equal(moveTo('c', { input: 1_000 }), 1_000, 'the conversation had become shorter')
  assert.equal(moveTo('a', { cached_input: null }), null, 'nothing is reported')
})

test('a session’s lost cached tokens are known for each agent, even on routes without sticky sessions', () => {
  const router = routerOf('round-robin')
  const from = (agentId: string | null) => ({ ...input({}, 's'), agentId })
  assert.deepEqual(serve(router, from(null)), ['p/a', null])
  assert.deepEqual(serve(router, from('helper')), ['p/b', null])
  assert.deepEqual(serve(router, from(null)), ['p/c', 2_000])
})

test('gateways share updated conversations and their remaining lifetimes, and never overwrite a newer local change', () => {
  let time = 0
  const [one, two] = [0, 1].map(() => new Conversations(() => time))
  one!.set('k', 'p/a', 1_000, 7)
  one!.set('for ever', 'p/a', Infinity)
  time = 400
  const changes = one!.takeChanged()
  assert.deepEqual(changes, [
    { key: 'for ever', place: 'p/a', cached: 0, ms: 24 * 3_600_000 },
    { key: 'k', place: 'p/a', cached: 7, ms: 600 },
  ])
  assert.deepEqual(one!.takeChanged(), [])
  two!.apply(changes)
  assert.deepEqual(two!.get('k'), { place: 'p/a', cached: 7, until: 1_000 })
  assert.deepEqual(two!.takeChanged(), [], 'what came from another is not sent back')
  two!.set('k', 'p/b', 1_000)
  two!.apply(changes)
  assert.equal(two!.get('k')!.place, 'p/b')
  time = 2_000
  assert.equal(two!.get('k'), undefined)
})
