// The routing table: the prepared configuration of each logical id, and the single-target entry of a direct
// provider/model id. Names the strategies and contains no changing state.

import type { Config, ModelConfig, RouteConfig } from '../config/load.ts'
import type { STRATEGIES } from '../config/schema.ts'
import type { RequestChanges, Target } from '../core/call.ts'
import { refuseMisplaced } from '../core/model-in-path.ts'
import { compileRules, isLimited, type Rule } from './rules.ts'
import {
  cheapest,
  fastest,
  leastBusy,
  priority,
  random,
  roundRobin,
  type Strategy,
  weighted,
} from './strategies.ts'

export const strategies: Record<(typeof STRATEGIES)[number], Strategy> = {
  priority,
  weighted,
  'round-robin': roundRobin,
  random,
  cheapest,
  fastest,
  'least-busy': leastBusy,
}

export interface RouteEntry {
  /** Name of the route; null for a direct id. */
  readonly name: string | null
  readonly strategyName: string
  readonly strategy: Strategy
  readonly targets: readonly Target[]
  /** The operator's settings for each target's model. */
  readonly models: readonly (ModelConfig | undefined)[]
  /** Dialects of each target's provider. */
  readonly dialects: readonly (readonly string[])[]
  /** Dialects of calls that every target can serve. */
  readonly spokenByAll: ReadonlySet<string>
  /** Returns the account of a provider. Providers of one account share their stored state. */
  readonly accountOf: (provider: string) => string
  /** True if some targets refuse signed or encrypted reasoning from other targets. */
  readonly isMixed: boolean
  /** Returns true if a call in this dialect can be translated for a target, given by its index. */
  readonly translates: (dialect: string, target: number) => boolean
  /** True if targets that speak a call's dialect come before all other targets. */
  readonly prefersNative: boolean
  /** True if the targets or their order depend on the client's dialect, for dialects that the targets speak. */
  readonly dependsOnDialect: boolean
  readonly rules: readonly Rule[]
  /** True if there are rules or limited models, so that the targets depend on the traits of a call. */
  readonly readsTraits: boolean
  readonly sticky: RouteConfig['sticky'] | null
  /** Returns the time for which a target's provider caches a prompt, ms. */
  readonly cacheLife: (target: Target) => number
  /** True if any model may serve calls that normally stay with one model. */
  readonly mixesModels: boolean
}

/**
 * Returns the entry of a model id; null for an unknown id. Throws for a direct id that is unsafe in a path.
 */
type RoutingTable = (model: string) => RouteEntry | null

/** Returns true if a call in a dialect can be translated for a provider of the dialects `spoken`. */
export type CanTranslate = (dialect: string, spoken: readonly string[]) => boolean

export function createRoutingTable(
  config: Config,
  canTranslate: CanTranslate,
  isForAccount: IsForAccount,
): RoutingTable {
  const entries = new Map<string, RouteEntry>()
  for (const [name, { strategy, targets, rules, sticky, prefer, embeddings }] of Object.entries(
    config.routes,
  )) {
    const models = targets.map(({ model }) => config.models[model])
    const parsed = targets.map(({ model, tier, weight, request }) => ({
      ...parseTarget(config, model, tier, weight)!,
      ...(request && { changes: changesOf(request) }),
    }))
    entries.set(name, {
      name,
      strategyName: strategy,
      strategy: strategies[strategy],
      targets: parsed,
      models,
      ...dialectsOf(config, parsed, canTranslate, prefer === 'native'),
      isMixed: new Set(parsed.map((target) => familyOf(config, target, isForAccount))).size > 1,
      rules: compileRules(rules),
      readsTraits: rules.length > 0 || models.some(isLimited),
      sticky: sticky ?? null,
      cacheLife: ({ provider }) => config.providers[provider]!.prompt_cache,
      mixesModels: embeddings === 'any_model',
    })
  }
  return (model) => {
    const entry = entries.get(model)
    if (entry) return entry
    const target = parseTarget(config, model)
    if (target) refuseMisplaced(target.model, model)
    return target && { ...DIRECT, targets: [target], ...dialectsOf(config, [target], canTranslate, false) }
  }
}

/** Entry for direct ids. Direct ids have only their own target, regardless of the call's needs (ROUTE-02). */
const DIRECT: Omit<RouteEntry, 'targets' | keyof ReturnType<typeof dialectsOf>> = {
  name: null,
  strategyName: 'direct',
  strategy: priority,
  models: [undefined],
  rules: [],
  readsTraits: false,
  sticky: null,
  cacheLife: () => 0,
  mixesModels: false,
  isMixed: false,
}

/** Parses `provider/model` with a configured provider. The model may contain more slashes. */
/** Returns changes to requests with their values as JSON, serialized once. */
const changesOf = ({
  headers,
  set,
  omit,
  effort,
  max_output,
}: NonNullable<RouteConfig['targets'][number]['request']>): RequestChanges => ({
  headers,
  set: Object.fromEntries(Object.entries(set).map(([name, value]) => [name, JSON.stringify(value)])),
  omit,
  effort: effort ?? null,
  maxOutput: max_output ?? null,
})

function parseTarget(config: Config, id: string, tier?: string, weight = 1): Target | null {
  const slash = id.indexOf('/')
  const provider = id.slice(0, slash)
  const model = id.slice(slash + 1)
  return slash > 0 && model && Object.hasOwn(config.providers, provider)
    ? { provider, model, tier: tier ?? config.models[id]?.tier ?? null, weight }
    : null
}

/** Returns true if only the account that made a model's opaque reasoning can read it. */
export type IsForAccount = (target: Target) => boolean

/**
 * Returns the family of a target. Targets that the operator grouped, or at one address, accept each other's
 * opaque reasoning. Some models also require the same account.
 */
export function familyOf(config: Config, target: Target, isForAccount: IsForAccount): string {
  const { family, base_url } = config.providers[target.provider]!
  return family ?? (isForAccount(target) ? accountIn(config)(target.provider) : base_url)
}

/**
 * Returns the account of a provider, by address and key. A provider that is no longer configured has a
 * separate account.
 */
export const accountIn =
  ({ providers }: Config) =>
  (provider: string): string => {
    const { base_url, key, keys, auth } = (Object.hasOwn(providers, provider) && providers[provider]) || {}
    return base_url === undefined
      ? `provider ${provider}`
      : JSON.stringify([base_url, key ?? keys ?? auth ?? null])
  }

function dialectsOf(
  config: Config,
  targets: readonly Target[],
  canTranslate: CanTranslate,
  prefersNative: boolean,
): Pick<
  RouteEntry,
  'dialects' | 'spokenByAll' | 'accountOf' | 'translates' | 'prefersNative' | 'dependsOnDialect'
> {
  const dialects = targets.map(({ provider }) => config.providers[provider]!.dialect)
  const reaches = (name: string) => (spoken: readonly string[]) =>
    spoken.includes(name) || (!prefersNative && canTranslate(name, spoken))
  return {
    dialects,
    accountOf: accountIn(config),
    spokenByAll: new Set(dialects[0]!.filter((name) => dialects.every((each) => each.includes(name)))),
    translates: (dialect, target) => canTranslate(dialect, dialects[target]!),
    prefersNative,
    dependsOnDialect: [...new Set(dialects.flat())].some((name) => !dialects.every(reaches(name))),
  }
}
