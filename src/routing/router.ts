// Logical id -> route with ordered candidates. Holds the little that routing remembers: whose turn it is and
// which targets are cooling down. Knows no provider and no store; clock and chance are handed in.
import { type Route, type Skipped, type Target, targetId } from '../call.ts'
import type { Config, STRATEGIES } from '../config.ts'
import { priority } from './strategies/priority.ts'
import { roundRobin } from './strategies/round-robin.ts'
import { weighted } from './strategies/weighted.ts'
import type { Strategy } from './strategy.ts'

const strategies: Record<(typeof STRATEGIES)[number], Strategy> = {
  priority,
  weighted,
  'round-robin': roundRobin,
}

/** Where a call would go now, contract "Resolve". */
export interface Resolution {
  readonly model: string
  readonly route: string | null
  readonly strategy: string
  readonly tier: string | null
  readonly provider: string
  readonly resolved_model: string
  readonly deterministic: boolean
  readonly depends_on: readonly ('session' | 'shape' | 'load')[]
  readonly candidates: readonly {
    readonly provider: string
    readonly model: string
    readonly tier: string | null
    readonly probability: number
    readonly state: 'ready' | 'cooling'
    readonly reason: string | null
  }[]
}

export interface Router {
  /** Picks the way of a call and moves the router on; null for a model that nobody knows. */
  route(model: string): Route | null
  /** Says where a call would go and moves nothing; null for a model that nobody knows. */
  resolve(model: string): Resolution | null
  /** A target failed: pass it over for `ms`. */
  cool(target: Target, ms: number): void
}

export interface RouterDeps {
  readonly now: () => number
  readonly random: () => number
}

interface Entry {
  readonly name: string | null
  readonly strategyName: string
  readonly strategy: Strategy
  readonly targets: readonly Target[]
}

export function createRouter(config: Config, { now, random }: RouterDeps): Router {
  const entries = new Map<string, Entry>()
  for (const [name, { strategy, targets }] of Object.entries(config.routes)) {
    const list = targets.map(({ model, tier = null, weight }) => parseTarget(config, model, tier, weight)!)
    entries.set(name, { name, strategyName: strategy, strategy: strategies[strategy], targets: list })
  }
  const turns = new Map<string, number>()
  const cooling = new Map<string, number>()

  const find = (model: string): Entry | null => {
    const entry = entries.get(model)
    if (entry) return entry
    const target = parseTarget(config, model, null, 1)
    return target && { name: null, strategyName: 'direct', strategy: priority, targets: [target] }
  }

  /** Until when a target is passed over; 0 when it is ready. */
  const coolingUntil = (target: Target): number => {
    if (cooling.size === 0) return 0
    const until = cooling.get(targetId(target)) ?? 0
    return until > now() ? until : 0
  }

  return {
    route(model) {
      const entry = find(model)
      if (!entry) return null
      const { name, strategyName, strategy, targets } = entry
      const turn = turns.get(model) ?? 0
      if (name !== null) turns.set(model, turn + 1)
      const { ready, cold } = split(targets, coolingUntil)
      // Those that cool down come last, the one whose time ends first before the others.
      const ordered = ready.length > 0 ? strategy.order(ready, { turn, random }) : []
      const [first, ...rest] = [...ordered, ...cold]
      const skipped: Skipped[] =
        first && cold.includes(first) ? [] : cold.map((t) => ({ target: targetId(t), reason: 'cooling' }))
      const cause = ready.length > 0 ? strategyName : 'all_cooling'
      return { name, strategy: strategyName, candidates: [first!, ...rest], decision: { cause, skipped } }
    },

    resolve(model) {
      const entry = find(model)
      if (!entry) return null
      const { name, strategyName, strategy, targets } = entry
      const turn = turns.get(model) ?? 0
      const { ready, cold } = split(targets, coolingUntil)
      const alive = ready.length > 0 ? ready : cold.slice(0, 1)
      const chances = ready.length > 0 ? strategy.probabilities(ready, turn) : [1]
      const likeliest = alive[chances.indexOf(Math.max(...chances))]!
      return {
        model,
        route: name,
        strategy: strategyName,
        tier: likeliest.tier,
        provider: likeliest.provider,
        resolved_model: likeliest.model,
        deterministic: strategy.deterministic || alive.length === 1,
        depends_on: [],
        candidates: targets.map((target) => {
          const until = coolingUntil(target)
          return {
            provider: target.provider,
            model: target.model,
            tier: target.tier,
            probability: chances[alive.indexOf(target)] ?? 0,
            state: until ? 'cooling' : 'ready',
            reason: until ? `failed; passed over until ${new Date(until).toISOString()}` : null,
          }
        }),
      }
    },

    cool(target, ms) {
      const time = now()
      // Direct ids are the clients' to choose, so what is over is not kept.
      for (const [id, until] of cooling) if (until <= time) cooling.delete(id)
      if (time + ms > coolingUntil(target)) cooling.set(targetId(target), time + ms)
    },
  }
}

function split(
  targets: readonly Target[],
  coolingUntil: (target: Target) => number,
): { ready: Target[]; cold: Target[] } {
  const ready = targets.filter((target) => coolingUntil(target) === 0)
  const cold = targets
    .filter((target) => coolingUntil(target) > 0)
    .sort((a, b) => coolingUntil(a) - coolingUntil(b))
  return { ready, cold }
}

/** `provider/model` with a provider that is configured; the model may hold further slashes. */
function parseTarget(config: Config, id: string, tier: string | null, weight: number): Target | null {
  const slash = id.indexOf('/')
  const provider = id.slice(0, slash)
  const model = id.slice(slash + 1)
  return slash > 0 && model && Object.hasOwn(config.providers, provider)
    ? { provider, model, tier, weight }
    : null
}
