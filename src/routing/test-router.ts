// A router with four targets, for the tests in this folder.

import { parseConfig } from '../config/load.ts'
import { type Target, targetId } from '../core/call.ts'
import { PLAIN, type RequestTraits } from '../core/request-traits.ts'
import { seeded } from '../shared/chance.ts'
import { createRouter, type Router, type RoutingInput } from './router.ts'

/** Targets with weights that add up to 10. `never` has the weight 0, and `c` has no price. */
export const TARGETS = [
  { model: 'p/a', weight: 5, tier: 'premium' },
  { model: 'p/b', weight: 3, tier: 'cheap' },
  { model: 'p/c', weight: 2 },
  { model: 'p/never', weight: 0, tier: 'cheap' },
]

const MODELS = {
  'p/a': { price: { input: 3, output: 10 } },
  'p/b': { price: { input: 1, output: 2 } },
  'p/c': { tier: 'balanced' },
  'p/never': { price: { input: 0, output: 0 } },
}

interface RouterSetup {
  readonly seed?: number
  readonly now?: () => number
  /** Additional settings of the route `auto`. */
  readonly route?: object
  readonly models?: object
}

/** Returns a router with one route, `auto`, with TARGETS. */
export function routerOf(
  strategy: string,
  { seed = 1, now = () => 0, route = {}, models = {} }: RouterSetup = {},
): Router {
  const text = JSON.stringify({
    providers: { p: { dialect: 'openai', base_url: 'http://127.0.0.1:1' } },
    models: { ...MODELS, ...models },
    routes: { auto: { strategy, targets: TARGETS, ...route } },
  })
  return createRouter(parseConfig(text, 'test', { env: {} }).config, { now, random: seeded(seed) })
}

export const target = (model: string): Target => ({ provider: 'p', model, tier: null, weight: 1 })

export const input = (
  traits: Partial<RequestTraits> = {},
  sessionId: string | null = null,
  keyName = 'k',
): RoutingInput => ({
  dialect: 'chat',
  sessionId,
  keyName,
  traits: { ...PLAIN, ...traits },
})

/** Routes a call to `auto`, ends it immediately, and returns its first target. */
export function pick(router: Router, call: RoutingInput = input()): string {
  const { route, tracker } = router.route('auto', call)!
  tracker.over()
  return targetId(route.candidates[0])
}
