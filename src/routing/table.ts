// The routing table: what the configuration says of each logical id, ready for use, and the one line that a direct
// provider/model id makes. Knows the strategies by name, and nothing that changes.
import type { Target } from '../call.ts'
import type { STRATEGIES } from '../config/schema.ts'
import type { Config, ModelConfig } from '../config.ts'
import { isLimited } from './capabilities.ts'
import { compileRules, type Rule } from './rules.ts'
import { cheapest } from './strategies/cheapest.ts'
import { fastest } from './strategies/fastest.ts'
import { leastBusy } from './strategies/least-busy.ts'
import { priority } from './strategies/priority.ts'
import { random } from './strategies/random.ts'
import { roundRobin } from './strategies/round-robin.ts'
import { weighted } from './strategies/weighted.ts'
import type { Strategy } from './strategy.ts'

export const strategies: Record<(typeof STRATEGIES)[number], Strategy> = {
  priority,
  weighted,
  'round-robin': roundRobin,
  random,
  cheapest,
  fastest,
  'least-busy': leastBusy,
}

export interface Entry {
  /** Null for a direct id. */
  readonly name: string | null
  readonly strategyName: string
  readonly strategy: Strategy
  readonly targets: readonly Target[]
  /** What the operator said of each target's model. */
  readonly models: readonly (ModelConfig | undefined)[]
  /** What each target's provider speaks. */
  readonly dialects: readonly (readonly string[])[]
  /** A call in one of these may go to every target. */
  readonly spokenByAll: ReadonlySet<string>
  /** Not every target takes the signed and encrypted reasoning of every other. */
  readonly isMixed: boolean
  /** Whether a call in this dialect can be translated for a target that speaks others, by its place among the targets. */
  readonly translates: (dialect: string, target: number) => boolean
  /** Targets that speak the dialect of a call go before the others. */
  readonly prefersNative: boolean
  /** Where a call may go, or goes first, is not the same for clients of all dialects that its targets speak. */
  readonly dependsOnDialect: boolean
  readonly rules: readonly Rule[]
  /** There are rules or limited models, so where a call may go depends on what it is like. */
  readonly readsTraits: boolean
  readonly sticky: boolean
  /** Calls whose answers depend on one model may go to any all the same. */
  readonly mixesModels: boolean
}

/** The entry of a model id; null for an unknown one. */
export type Table = (model: string) => Entry | null

/** Whether a call in a dialect can be translated for a provider that speaks these. */
export type CanTranslate = (dialect: string, spoken: readonly string[]) => boolean

export function createTable(config: Config, canTranslate: CanTranslate): Table {
  const entries = new Map<string, Entry>()
  for (const [name, { strategy, targets, rules, sticky, prefer, embeddings }] of Object.entries(
    config.routes,
  )) {
    const models = targets.map(({ model }) => config.models[model])
    const parsed = targets.map(({ model, tier, weight }) => parseTarget(config, model, tier, weight)!)
    entries.set(name, {
      name,
      strategyName: strategy,
      strategy: strategies[strategy],
      targets: parsed,
      models,
      ...dialectsOf(config, parsed, canTranslate, prefer === 'native'),
      rules: compileRules(rules),
      readsTraits: rules.length > 0 || models.some(isLimited),
      sticky: sticky === 'session',
      mixesModels: embeddings === 'any_model',
    })
  }
  return (model) => {
    const entry = entries.get(model)
    if (entry) return entry
    const target = parseTarget(config, model)
    return target && { ...DIRECT, targets: [target], ...dialectsOf(config, [target], canTranslate, false) }
  }
}

/** A direct id goes where it says, whatever the call needs (ROUTE-02), or nowhere. */
const DIRECT: Omit<Entry, 'targets' | keyof ReturnType<typeof dialectsOf>> = {
  name: null,
  strategyName: 'direct',
  strategy: priority,
  models: [undefined],
  rules: [],
  readsTraits: false,
  sticky: false,
  mixesModels: false,
}

/** `provider/model` with a provider that is configured; the model may hold further slashes. */
function parseTarget(config: Config, id: string, tier?: string, weight = 1): Target | null {
  const slash = id.indexOf('/')
  const provider = id.slice(0, slash)
  const model = id.slice(slash + 1)
  return slash > 0 && model && Object.hasOwn(config.providers, provider)
    ? { provider, model, tier: tier ?? config.models[id]?.tier ?? null, weight }
    : null
}

/** Providers at the same address take each other's signed and encrypted reasoning, and those of which the operator says so. */
export const familyOf = ({ providers }: Config, provider: string): string =>
  providers[provider]!.family ?? providers[provider]!.base_url

function dialectsOf(
  config: Config,
  targets: readonly Target[],
  canTranslate: CanTranslate,
  prefersNative: boolean,
): Pick<Entry, 'dialects' | 'spokenByAll' | 'isMixed' | 'translates' | 'prefersNative' | 'dependsOnDialect'> {
  const dialects = targets.map(({ provider }) => config.providers[provider]!.api)
  const reaches = (name: string) => (spoken: readonly string[]) =>
    spoken.includes(name) || (!prefersNative && canTranslate(name, spoken))
  return {
    dialects,
    isMixed: new Set(targets.map(({ provider }) => familyOf(config, provider))).size > 1,
    spokenByAll: new Set(dialects[0]!.filter((name) => dialects.every((each) => each.includes(name)))),
    translates: (dialect, target) => canTranslate(dialect, dialects[target]!),
    prefersNative,
    dependsOnDialect: [...new Set(dialects.flat())].some((name) => !dialects.every(reaches(name))),
  }
}
