// Logical id -> route with ordered candidates: what the call needs leaves some targets, a rule leaves fewer, what
// cools down goes to the end, and the strategy orders the rest. Knows no provider and no store; clock, chance and
// memory are handed in.
import { type Purpose, type Route, type Target, targetId } from '../call.ts'
import type { Config } from '../config.ts'
import { createQuote, pricingOf } from '../pricing.ts'
import { PLAIN, type RequestTraits } from '../request-traits.ts'
import { type AttemptTracker, trackAttempts } from './attempt-tracker.ts'
import { choose, groupOf, onlyOf } from './choice.ts'
import { Family } from './families.ts'
import { RoutingState } from './routing-state.ts'
import type { Pick } from './strategy.ts'
import { type CanTranslate, createTable, type Entry, familyOf } from './table.ts'

/** Where a call would go now, contract "Resolve". */
export interface Resolution {
  readonly model: string
  readonly route: string | null
  readonly strategy: string
  readonly tier: string | null
  readonly provider: string
  readonly resolved_model: string
  readonly deterministic: boolean
  readonly depends_on: readonly ('session' | 'shape' | 'dialect' | 'load')[]
  readonly candidates: readonly {
    readonly provider: string
    readonly model: string
    readonly tier: string | null
    readonly probability: number
    readonly state: 'ready' | 'cooling'
    /** ISO 8601; null while it is ready. */
    readonly cooling_until: string | null
    readonly reason: string | null
  }[]
}

/** What routing may ask about a call. The shape is read by routes with rules or limited models only. */
export interface RoutingInput {
  /** Name of the dialect that the client speaks. */
  readonly dialect: string
  readonly sessionId: string | null
  /** Which of the session's agents asks; each has a history of its own. */
  readonly agentId?: string | null
  readonly purpose?: Purpose
  /** The only provider that can serve it, because it keeps what the call goes on from. */
  readonly provider?: string | null
  /** Name of the gateway key; one key's sessions are not another's. */
  readonly keyName: string | null
  readonly traits: RequestTraits
  /** Why the call may go to one model of the route alone; absent where it may go to any. */
  readonly staysWithModel?: string | undefined
}

export interface Routed {
  readonly route: Route
  /** To be told what becomes of the call, and in any case that it is over. */
  readonly tracker: AttemptTracker
}

export interface Router {
  /**
   * Picks the route of a call and moves the router on; null for an unknown model. Throws
   * `no_target_available` when no target of the route has what the call needs.
   */
  route(model: string, input: RoutingInput): Routed | null
  /**
   * Says where a call without a session would go and moves nothing; null for an unknown model. What is not said of the
   * call: plain text, in any dialect. An unknown model uses the default route of `dialect`, if `dialect` is given
   * and has one. Throws as `route` does where it would be refused.
   */
  resolve(model: string, traits?: RequestTraits, dialect?: string): Resolution | null
  /**
   * The target that would be asked for something that is no call, null where none speaks the dialect; moves nothing.
   * Null for an unknown model.
   */
  peek(model: string, dialect: string): { readonly target: Target | null } | null
  /** A target failed: pass it over for `ms`. */
  cool(target: Target, ms: number): void
}

export interface RouterDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Of a router before this one, with another configuration; empty by default. */
  readonly routingState?: RoutingState
  /** No dialect is translated by default. */
  readonly canTranslate?: CanTranslate
}

export function createRouter(
  config: Config,
  { now, random, routingState = new RoutingState(now), canTranslate = () => false }: RouterDeps,
): Router {
  const find = createTable(config, canTranslate)
  const defaults: Readonly<Record<string, string>> = config.defaults
  /** Where calls of a dialect go whose model nothing here is called. */
  const defaultOf = (dialect: string) => {
    const route = Object.hasOwn(defaults, dialect) ? defaults[dialect] : undefined
    return route === undefined ? null : find(route)
  }
  const open: Pick['open'] = (target) => routingState.open(target)
  const latency: Pick['latency'] = (target) => routingState.latency(target)
  const price: Pick['price'] = createQuote(pricingOf(config), now)
  const pickOf = (group: string): Pick => ({ turn: routingState.turn(group), random, open, latency, price })

  /** Those that cool down come last, the one whose time ends first before the others. Asks the clock once each. */
  const split = (targets: readonly Target[]): { ready: readonly Target[]; cold: readonly Target[] } => {
    if (!routingState.isAnyCooling) return { ready: targets, cold: [] }
    const states = targets.map((target) => ({ target, until: routingState.coolingUntil(target) }))
    const cold = states.filter(({ until }) => until > 0).sort((a, b) => a.until - b.until)
    return {
      ready: states.flatMap(({ target, until }) => (until === 0 ? [target] : [])),
      cold: cold.map(({ target }) => target),
    }
  }

  return {
    route(
      model,
      {
        dialect,
        staysWithModel,
        sessionId,
        agentId = null,
        purpose = 'main',
        keyName,
        traits,
        provider = null,
      },
    ) {
      const known = find(model)
      const entry = known ?? defaultOf(dialect)
      if (!entry) return null
      const { name, strategyName, strategy } = entry
      const chosen = choose(entry, traits, dialect, staysWithModel)
      const { targets, rule, skipped } = provider === null ? chosen : onlyOf(provider, chosen)
      const { ready, cold } = split(targets)
      const group = groupOf(entry, targets)
      const picked = ready.length > 0 ? nativeFirst(entry, dialect, strategy.order(ready, pickOf(group))) : []
      const family =
        entry.isMixed && sessionId !== null && purpose !== 'background'
          ? new Family(
              routingState,
              ({ provider }) => familyOf(config, provider),
              { keyName, sessionId, agentId, route: name ?? '' },
              traits,
            )
          : null
      const ordered = family?.first(picked) ?? picked

      // Control characters are in no session id and in no name of a key, so the parts cannot run into each other.
      const key = entry.sticky && sessionId !== null ? `${keyName ?? ''}\n${sessionId}\n${group}` : null
      const stickyTarget = key === null ? undefined : routingState.stickyTarget(key)
      const stays =
        stickyTarget !== undefined &&
        ordered.find((target) => targetId(target) === stickyTarget && (family?.isHome(target) ?? true))
      const [first, ...rest] = stays
        ? [stays, ...ordered.filter((target) => target !== stays), ...cold]
        : [...ordered, ...cold]
      if (name !== null && !stays) routingState.turned(group)

      const causes = [
        known ? null : `default of ${dialect}`,
        rule,
        ready.length === 0 ? 'all_cooling' : stays ? 'sticky' : ordered !== picked ? 'reasoning' : null,
      ]
      const cause = causes.filter((each) => each !== null).join(', ') || strategyName
      const passedOver =
        ready.length === 0 ? [] : cold.map((t) => ({ target: targetId(t), reason: 'cooling' }))
      return {
        route: {
          name,
          strategy: strategyName,
          candidates: [first!, ...rest],
          decision: { cause, skipped: [...skipped, ...passedOver] },
        },
        tracker: trackAttempts(routingState, first!, key, family?.served),
      }
    },

    resolve(model, traits, dialect) {
      const entry = find(model) ?? (dialect === undefined ? null : defaultOf(dialect))
      if (!entry) return null
      const { name, strategyName, strategy, sticky, readsTraits, dependsOnDialect } = entry
      const { targets, skipped } = choose(entry, traits ?? PLAIN, dialect ?? null)
      const { ready, cold } = split(targets)
      const alive = ready.length > 0 ? ready : cold.slice(0, 1)
      const isOpen = alive.length > 1
      const pick = pickOf(groupOf(entry, targets))
      const chances = strategy.probabilities?.(alive, pick) ?? certain(alive, strategy.order(alive, pick)[0]!)
      const likeliest = alive[chances.indexOf(Math.max(...chances))]!
      const depends_on: Resolution['depends_on'] = [
        ...(sticky && isOpen ? (['session'] as const) : []),
        ...(readsTraits && !traits ? (['shape'] as const) : []),
        ...(dependsOnDialect && !dialect ? (['dialect'] as const) : []),
        ...(strategy.dependsOnLoad && isOpen ? (['load'] as const) : []),
      ]
      return {
        model,
        route: name,
        strategy: strategyName,
        tier: likeliest.tier,
        provider: likeliest.provider,
        resolved_model: likeliest.model,
        deterministic: depends_on.length === 0 && !(strategy.probabilities && isOpen),
        depends_on,
        candidates: entry.targets.map((target) => {
          const until = routingState.coolingUntil(target)
          const passedOver = skipped.find((each) => each.target === targetId(target))
          return {
            provider: target.provider,
            model: target.model,
            tier: target.tier,
            probability: chances[alive.indexOf(target)] ?? 0,
            state: until ? 'cooling' : 'ready',
            cooling_until: until ? new Date(until).toISOString() : null,
            reason: until
              ? `failed; passed over until ${new Date(until).toISOString()}`
              : (passedOver?.reason ?? null),
          }
        }),
      }
    },

    peek(model, dialect) {
      const entry = find(model) ?? defaultOf(dialect)
      if (!entry) return null
      const { ready, cold } = split(entry.targets.filter((_, n) => entry.dialects[n]!.includes(dialect)))
      return { target: ready[0] ?? cold[0] ?? null }
    },

    cool: (target, ms) => routingState.cool(target, ms),
  }
}

/** `prefer: native`: those that speak the dialect before those for which it is translated. */
function nativeFirst(
  { prefersNative, spokenByAll, targets, dialects }: Entry,
  dialect: string,
  ordered: readonly Target[],
): readonly Target[] {
  if (!prefersNative || spokenByAll.has(dialect)) return ordered
  const speaks = (target: Target) => dialects[targets.indexOf(target)]!.includes(dialect)
  return [...ordered.filter(speaks), ...ordered.filter((target) => !speaks(target))]
}

const certain = (targets: readonly Target[], first: Target): number[] =>
  targets.map((target) => (target === first ? 1 : 0))
