// Plans: all that is the same for the plain calls to a model, made once for a configuration and a dialect. A model gets
// a plan only if the configuration names it, because clients choose names. Changes nothing.
import { type Config, configuredModels } from '../config/load.ts'
import type { Target } from '../core/call.ts'
import type { ClientDialect, Prepared, UpstreamDialect } from '../dialects/dialect.ts'
import { encodeHeader } from '../http/reply.ts'
import type { Provider } from '../providers/send.ts'
import type { ConstantRoute, Router } from '../routing/router.ts'

/** Everything that all plain calls to a model have in common. */
export interface CallPlan extends ConstantRoute {
  /** The first target of the route. */
  readonly target: Target
  readonly provider: Provider
  readonly upstream: UpstreamDialect
  readonly prepared: Prepared
  /** Name of the model at the provider, as JSON. */
  readonly model: string
  /** Renames members that facts rule out, as `renamed` of a dialect; null if the route relays them. */
  readonly renamed: ((body: string) => unknown) | null
  /** Targets to which a request may have to be translated. */
  readonly doubtful: readonly { readonly upstream: UpstreamDialect; readonly model: string }[]
  /** Headers of each answer, as alternating names and values. */
  readonly headers: readonly string[]
}

interface PlanDeps {
  readonly config: Config
  readonly router: Router
  readonly providers: ReadonlyMap<string, Provider>
  /** True if providers answer from recordings. */
  readonly replay: boolean
}

export type Plans = (model: string, dialect: ClientDialect) => CallPlan | null

/** Returns a function that finds the plan of a model; null if its calls are not plain. */
export function createPlans(deps: PlanDeps): Plans {
  const { routes } = deps.config
  const names = new Set([...Object.keys(routes), ...configuredModels(deps.config)])
  const byDialect = new Map<string, Map<string, CallPlan | null>>()
  return (model, dialect) => {
    const plans = byDialect.get(dialect.name) ?? new Map<string, CallPlan | null>()
    let plan = plans.get(model)
    if (plan === undefined) {
      if (!names.has(model)) return null
      plan = planFor(model, dialect, deps)
      byDialect.set(dialect.name, plans.set(model, plan))
    }
    return plan
  }
}

function planFor(
  model: string,
  { name, staysWithModel, storing }: ClientDialect,
  { config, router, providers, replay }: PlanDeps,
): CallPlan | null {
  const constant = storing ? null : router.constant(model, name, staysWithModel)
  if (!constant) return null
  const { route } = constant
  const settings = route.name === null ? null : config.routes[route.name]
  const { cache = config.cache.enabled, answer_model, on_refused, keep } = settings ?? {}
  const [target] = route.candidates
  const upstreams = route.candidates.map(({ provider, model }) => {
    const { credentials, dialects } = providers.get(provider)!
    const isUsual = !credentials.areCallers && config.providers[provider]!.other_models !== 'refuse'
    return { upstream: isUsual ? dialects.get(name) : undefined, model }
  })
  const provider = providers.get(target.provider)!
  const { credentials, basePath, factsOf } = provider
  const isPlain =
    !cache && !keep && answer_model !== 'requested' && on_refused !== 'adjust' && !target.changes
  const isDirect = !provider.platform && !provider.sockets && credentials.constant
  const upstream = upstreams[0]!.upstream
  if (!isPlain || !isDirect || !upstream?.prepared || upstreams.some((each) => !each.upstream)) return null
  const { key, ...further } = isDirect
  if (Object.keys(further).length > 0) return null
  return {
    ...constant,
    ...{ target, provider, upstream },
    model: JSON.stringify(target.model),
    prepared: upstream.prepared(target.model, { basePath, key, factsOf }),
    renamed:
      upstream.renamed && on_refused !== 'relay'
        ? (body) => upstream.renamed!(body, target.model, factsOf)
        : null,
    doubtful: upstreams.filter(({ upstream }) => upstream!.translation) as CallPlan['doubtful'],
    headers: [
      ...['x-gateway-provider', encodeHeader(target.provider)],
      ...['x-gateway-model', encodeHeader(target.model)],
      ...['x-gateway-strategy', route.strategy],
      ...['x-gateway-attempts', '1'],
      ...['x-gateway-cache', 'BYPASS'],
      ...(replay ? ['x-gateway-replay', 'true'] : []),
    ],
  }
}
