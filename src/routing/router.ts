// Maps a logical id to a route with ordered candidates. The needs of the call and the rules select targets,
// targets in cooldown move to the end, and the strategy orders the rest. Independent of providers and the
// store; clock, random numbers and state are parameters.

import type { Config } from '../config/load.ts'
import {
  type CostEstimate,
  type Decision,
  type Purpose,
  type Route,
  type Target,
  targetId,
} from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import { PLAIN, type RequestTraits } from '../core/request-traits.ts'
import { createPricer, type Pricer, pricingOf } from '../pricing/pricing.ts'
import { callCosts, comparedCosts, learnFrom } from './call-costs.ts'
import { chooseKeeper, chooseTargets, groupOf, type ProviderState } from './choice.ts'
import { conversationKey, nameByOpening } from './conversations.ts'
import { Family } from './families.ts'
import { type AttemptTracker, type CallConversation, RoutingState, trackAttempts } from './routing-state.ts'
import type { Pick as Facts } from './strategies.ts'
import {
  accountIn,
  type CanTranslate,
  createRoutingTable,
  familyOf,
  type IsForAccount,
  type RouteEntry,
  strategies,
} from './table.ts'
import type { CallKind } from './usual-calls.ts'

/** Present route of a call. See "Resolve" in the contract. */
export interface Resolution {
  readonly model: string
  readonly route: string | null
  readonly strategy: string
  readonly tier: string | null
  readonly provider: string
  readonly resolved_model: string
  readonly deterministic: boolean
  readonly depends_on: readonly ('session' | 'shape' | 'dialect' | 'load')[]
  /** Expected costs at the targets that may serve the call; null unless the strategy compares them. */
  readonly estimate: CostEstimate | null
  readonly candidates: readonly {
    readonly provider: string
    readonly model: string
    readonly tier: string | null
    readonly probability: number
    readonly state: 'ready' | 'cooling'
    /** End of the cooldown, ISO 8601; null if the target is ready. */
    readonly cooling_until: string | null
    readonly reason: string | null
  }[]
}

/** Facts about a call for routing. Only routes with rules or limited models read the traits. */
export interface RoutingInput {
  /** Name of the client's dialect. */
  readonly dialect: string
  readonly sessionId: string | null
  /** The session's agent that makes the call. Each agent has its own history. */
  readonly agentId?: string | null
  readonly purpose?: Purpose
  /** State stored by one provider, as named by the call. */
  readonly kept?: ProviderState | null
  /** Returns the error if no target speaks the dialect. Absent for calls that can be translated. */
  readonly noKeeper?: (() => GatewayError) | undefined
  /** Name of the gateway key. Keys do not share sessions. */
  readonly keyName: string | null
  readonly traits: RequestTraits
  /** Reason why only one model of the route may serve the call; absent if any may. */
  readonly staysWithModel?: string | undefined
}

export interface Routed {
  readonly route: Route
  /** Tracker for the events of the call. The end must always be reported. */
  readonly tracker: AttemptTracker
  /** Session of the call, or a name for its opening if the route needs one. Null if both are unknown. */
  readonly conversation: string | null
}

/** A route that does not depend on the call. */
export interface ConstantRoute {
  readonly route: Route
  /** True if the calls of a session have the same route as others. */
  readonly takesSessions: boolean
  /** Advances the router for one more call, as `route` does. Null while a target is in cooldown. */
  begin(): AttemptTracker | null
}

/** Facts on which the cost of a call depends. */
interface CallDetails {
  readonly session?: Pick<RoutingInput, 'keyName' | 'sessionId'> | undefined
  readonly inputTokens?: number | undefined
}

export interface Router {
  /**
   * Picks the route of a call and advances the router; null for an unknown model. Throws
   * `no_target_available` if no target of the route has the needed capabilities.
   */
  route(model: string, input: RoutingInput): Routed | null
  /**
   * Returns the route that all calls to a model in a dialect have while no target is in cooldown; null if the route
   * depends on the call. Changes nothing.
   */
  constant(model: string, dialect: string, staysWithModel: string | undefined): ConstantRoute | null
  /**
   * Returns the route of a call; null for an unknown model. Changes nothing. By default, the call is plain text of the
   * route's usual length, in any dialect, and has no session. An unknown model uses the default route of `dialect`, if
   * there is one. Throws like `route` if the call would be refused.
   */
  resolve(model: string, traits?: RequestTraits, dialect?: string, details?: CallDetails): Resolution | null
  /**
   * Returns the target for a request that is not a call; the target is null if none speaks the dialect.
   * Returns null for an unknown model. Changes nothing.
   */
  peek(model: string, dialect: string): { readonly target: Target | null } | null
  /** Cools a failed target down for `ms`. */
  cool(target: Target, ms: number): void
  /** Returns the same value for all providers of one account. */
  accountOf(provider: string): string
}

interface RouterDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** State of the previous router, from before a reload; empty by default. */
  readonly routingState?: RoutingState
  /** Determines which dialects can be translated; none by default. */
  readonly canTranslate?: CanTranslate
  /**
   * Determines whether only one account can read a target's reasoning. By default, all accounts at its address can.
   */
  readonly isForAccount?: IsForAccount
}

const NEVER = (): boolean => false

export function createRouter(config: Config, deps: RouterDeps): Router {
  const {
    now,
    random,
    routingState = new RoutingState(now),
    canTranslate = NEVER,
    isForAccount = NEVER,
  } = deps
  const find = createRoutingTable(config, canTranslate, isForAccount)
  const defaults = new Map(Object.entries(config.defaults))
  /** Returns the default route of a dialect, for unknown models. */
  const defaultOf = (dialect: string) => find(defaults.get(dialect) ?? '')
  const familyFor = (target: Target) => familyOf(config, target, isForAccount)
  const price = createPricer(pricingOf(config))
  const factsFor: FactsFor = (entry, targets, call) =>
    factsIn(routingState, price, { now, random }, entry, targets, call)
  const split = (targets: readonly Target[]) => splitBy(routingState, targets)

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
        kept,
        noKeeper,
      },
    ) {
      const known = find(model)
      const entry = known ?? defaultOf(dialect)
      if (!entry) return null
      const { name, strategyName, strategy } = entry
      const readsCosts = strategy.readsCosts === true && entry.targets.length > 1
      if (noKeeper && !entry.dialects.some((spoken) => spoken.includes(dialect))) throw noKeeper()
      const { targets, rule, skipped } = kept
        ? chooseKeeper(entry, traits, dialect, kept, staysWithModel)
        : chooseTargets(entry, traits, dialect, staysWithModel)
      const { ready, cold } = split(targets)
      const group = groupOf(entry, targets)
      const isNamed = entry.sticky === 'prefix' || readsCosts
      const conversation = sessionId ?? (isNamed ? nameByOpening(traits) : null)
      const follows = conversationOf(entry, conversation, keyName, group, agentId, purpose)
      const input = readsCosts && !kept ? traits.inputTokens : null
      const call = { group, kind: { group: kindOf(name, purpose), prompt: follows.prompt }, input }
      const { facts, estimate } = factsFor(entry, ready, call)
      const ranked = ready.length > 0 ? strategy.order(ready, facts) : []
      const picked = nativeFirst(entry, dialect, ranked)
      const hasFamily = entry.isMixed && sessionId !== null && purpose !== 'background'
      const history = hasFamily ? { keyName, sessionId, agentId, route: name ?? '' } : null
      const family = history && new Family(routingState, familyFor, history, traits)
      const ordered = family?.first(picked) ?? picked

      const stays = stayingTarget(routingState, follows, family, ordered)
      const [first, ...rest] = stays
        ? [stays, ...ordered.filter((target) => target !== stays), ...cold]
        : [...ordered, ...cold]
      if (name !== null && !stays) routingState.turned(group)
      const learn = learnFor(entry, routingState, call)

      const reason =
        ready.length === 0 ? 'all_cooling' : stays ? 'sticky' : ordered !== picked ? 'reasoning' : null
      const causes = [known ? null : `default of ${dialect}`, rule, reason]
      const passedOver = ready.length === 0 ? [] : cold.map(asCooling)
      return {
        route: {
          name,
          strategy: strategyName,
          candidates: [first!, ...rest],
          decision: decisionOf(causes, strategyName, [...skipped, ...passedOver], estimate),
          ...(family && { readsReasoning: family.isHome }),
        },
        tracker: trackAttempts(routingState, first!, follows, family?.served, learn),
        conversation,
      }
    },

    constant: (model, ...call) => constantRoute(find(model), ...call, routingState),
    resolve(model, traits, dialect, details) {
      const entry = find(model) ?? (dialect === undefined ? null : defaultOf(dialect))
      return entry && resolutionOf(entry, { model, traits, dialect, ...details }, routingState, factsFor)
    },

    peek(model, dialect) {
      const entry = find(model) ?? defaultOf(dialect)
      if (!entry) return null
      const { ready, cold } = split(entry.targets.filter((_, n) => entry.dialects[n]!.includes(dialect)))
      return { target: ready[0] ?? cold[0] ?? null }
    },

    cool: (target, ms) => routingState.cool(target, ms),
    accountOf: accountIn(config),
  }
}

/** Returns the route of an entry if it is the same for all calls; null otherwise. */
function constantRoute(
  entry: RouteEntry | null,
  dialect: string,
  staysWithModel: string | undefined,
  routingState: RoutingState,
): ConstantRoute | null {
  if (!entry) return null
  const { name, strategyName, strategy, targets, spokenByAll, readsTraits, mixesModels, sticky } = entry
  const [first, ...rest] = targets
  const isAlone = rest.length === 0 && !strategy.readsCosts && !strategy.readsLatency
  const staysApart = staysWithModel !== undefined && !mixesModels && rest.length > 0
  if (!first || readsTraits || staysApart || !spokenByAll.has(dialect) || sticky === 'prefix') return null
  if (!isAlone && strategy !== strategies.priority) return null
  const follows = conversationOf(entry, null, null, '', null, 'main')
  const group = groupOf(entry, targets)
  return {
    route: {
      name,
      strategy: strategyName,
      candidates: [first, ...rest],
      decision: decisionOf([], strategyName, [], undefined),
    },
    takesSessions: rest.length === 0,
    begin() {
      if (routingState.isAnyCooling && targets.some((target) => routingState.coolingUntil(target) > 0))
        return null
      if (name !== null) routingState.turned(group)
      return trackAttempts(routingState, first, follows)
    },
  }
}

/** Identifies the calls of a route that resemble each other. */
const kindOf = (route: string | null, purpose: Purpose): string => `${route} ${purpose}`

/** Identifies the conversation of a call on a route with several targets. */
function conversationOf(
  { sticky, cacheLife, targets, name }: RouteEntry,
  conversation: string | null,
  keyName: string | null,
  group: string,
  agentId: string | null,
  purpose: Purpose,
): CallConversation {
  const isKnown = conversation !== null && targets.length > 1
  return {
    sticky: isKnown && sticky ? conversationKey('sticky', keyName, conversation, group) : null,
    // Each agent and background task of a session has its own prompt. A summary is asked for after the session's own.
    prompt: isKnown
      ? conversationKey(
          'prompt',
          keyName,
          conversation,
          name,
          agentId,
          purpose === 'compaction' ? 'main' : purpose,
        )
      : null,
    staysMs: sticky === 'prefix' ? cacheLife : () => Infinity,
    cachedMs: cacheLife,
  }
}

/**
 * Returns the target of the conversation, if it is ready and accepts the history; undefined if there is none.
 */
function stayingTarget(
  { conversations }: RoutingState,
  { sticky }: CallConversation,
  family: Family | null,
  ordered: readonly Target[],
): Target | undefined {
  const place = sticky === null ? undefined : conversations.get(sticky)?.place
  if (place === undefined) return undefined
  return ordered.find((target) => targetId(target) === place && (family?.isHome(target) ?? true))
}

/** Returns the decision; its cause is the strategy if nothing else is. */
const decisionOf = (
  causes: readonly (string | null)[],
  strategyName: string,
  skipped: Decision['skipped'],
  estimate: CostEstimate | undefined,
): Decision => ({
  cause: causes.filter((each) => each !== null).join(', ') || strategyName,
  ...{ skipped, ...(estimate && { estimate }) },
})

const asCooling = (target: Target) => ({ target: targetId(target), reason: 'cooling' })

/** Separates targets in cooldown, the shortest cooldown first. Reads the clock once for each target. */
function splitBy(
  routingState: RoutingState,
  targets: readonly Target[],
): { ready: readonly Target[]; cold: readonly Target[] } {
  if (!routingState.isAnyCooling) return { ready: targets, cold: [] }
  const states = targets.map((target) => ({ target, until: routingState.coolingUntil(target) }))
  const cold = states.filter(({ until }) => until > 0).sort((a, b) => a.until - b.until)
  return {
    ready: states.flatMap(({ target, until }) => (until === 0 ? [target] : [])),
    cold: cold.map(({ target }) => target),
  }
}

/** A call as described to `resolve`. */
interface AskedCall extends CallDetails {
  readonly model: string
  readonly traits: RequestTraits | undefined
  readonly dialect: string | undefined
}

/** A call as far as the order of the targets depends on it. `group`: the targets that may serve it. */
interface CallToRank {
  readonly group: string
  readonly kind: CallKind
  /** Estimated input tokens; null if not estimated. */
  readonly input: number | null
}

/** Returns the facts for a strategy, with the costs that it compares, if it does. */
type FactsFor = (
  entry: RouteEntry,
  targets: readonly Target[],
  call: CallToRank,
) => { readonly facts: Facts; readonly estimate: CostEstimate | undefined }

/** Returns the function that learns from the end of a call, if the strategy reads what calls usually are like. */
const learnFor = ({ strategy }: RouteEntry, state: RoutingState, { kind, input }: CallToRank) =>
  strategy.readsCosts || strategy.readsLatency ? learnFrom(state, kind, input) : undefined

function factsIn(
  state: RoutingState,
  price: Pricer,
  { now, random }: Pick<RouterDeps, 'now' | 'random'>,
  { strategy }: RouteEntry,
  targets: readonly Target[],
  { group, kind, input }: CallToRank,
): ReturnType<FactsFor> {
  const isCompared = strategy.readsCosts && targets.length > 1
  const estimate = isCompared ? callCosts(state, price, targets, { kind, input, at: now() }) : undefined
  const costs = estimate && comparedCosts(estimate)
  return {
    facts: {
      ...{ turn: state.turn(group), random },
      open: (target) => state.open(target),
      latency: (target) => state.answerTime(target, state.usual.expect(kind, null).output),
      price: (target) => costs?.get(targetId(target)) ?? null,
    },
    estimate,
  }
}

/** Returns the route of a call for an entry of the table. Changes nothing. */
function resolutionOf(
  entry: RouteEntry,
  { model, traits, dialect, session, inputTokens }: AskedCall,
  routingState: RoutingState,
  factsFor: FactsFor,
): Resolution {
  const { name, strategyName, strategy, sticky, readsTraits, dependsOnDialect } = entry
  const { targets, skipped } = chooseTargets(entry, traits ?? PLAIN, dialect ?? null)
  const { ready, cold } = splitBy(routingState, targets)
  const alive = ready.length > 0 ? ready : cold.slice(0, 1)
  const isOpen = alive.length > 1
  const group = groupOf(entry, targets)
  const { sessionId = null, keyName = null } = session ?? {}
  const follows = conversationOf(entry, sessionId, keyName, group, null, 'main')
  const kind = { group: kindOf(name, 'main'), prompt: follows.prompt }
  const { facts, estimate } = factsFor(entry, alive, { group, kind, input: inputTokens ?? null })
  const stays = stayingTarget(routingState, follows, null, alive)
  const chances =
    (stays && certain(alive, stays)) ??
    strategy.probabilities?.(alive, facts) ??
    certain(alive, strategy.order(alive, facts)[0]!)
  const likeliest = alive[chances.indexOf(Math.max(...chances))]!
  const depends_on: Resolution['depends_on'] = [
    ...((sticky || strategy.readsCosts) && isOpen && !session ? (['session'] as const) : []),
    ...((readsTraits && !traits) || (estimate && !stays && inputTokens === undefined)
      ? (['shape'] as const)
      : []),
    ...(dependsOnDialect && !dialect ? (['dialect'] as const) : []),
    ...(strategy.dependsOnLoad && isOpen && !stays ? (['load'] as const) : []),
  ]
  return {
    model,
    route: name,
    strategy: strategyName,
    tier: likeliest.tier,
    provider: likeliest.provider,
    resolved_model: likeliest.model,
    deterministic: depends_on.length === 0 && !(strategy.probabilities && isOpen && !stays),
    depends_on,
    estimate: estimate ?? null,
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
}

/** Applies `prefer: native`: moves targets that speak the dialect before targets that need a translation. */
function nativeFirst(
  { prefersNative, spokenByAll, targets, dialects }: RouteEntry,
  dialect: string,
  ordered: readonly Target[],
): readonly Target[] {
  if (!prefersNative || spokenByAll.has(dialect)) return ordered
  const speaks = (target: Target) => dialects[targets.indexOf(target)]!.includes(dialect)
  return [...ordered.filter(speaks), ...ordered.filter((target) => !speaks(target))]
}

const certain = (targets: readonly Target[], first: Target): number[] =>
  targets.map((target) => (target === first ? 1 : 0))
