// Finds the models that a provider may use instead of a target's or besides it, and implements `other_models` of a
// provider: before sending, skips targets whose provider must not get a request that names other models.
import { type Route, type Target, withoutTargets } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { type NamedModel, namedModels, othersThan } from '../core/other-models.ts'
import type { ClientRequest } from '../dialects/client-request.ts'
import type { JsonBody } from '../http/body.ts'
import type { CallContext } from './context.ts'

/** Returns the other models that a target's provider may use for a request. */
export type OthersOf = (target: Target) => readonly NamedModel[]

/**
 * Returns a function that names the other models of a request at a target. A translation keeps no member of the client
 * that names one; members that the operator sets always arrive.
 */
export function othersIn(
  json: JsonBody['json'],
  request: ClientRequest,
  dialect: string,
  { providers }: Pick<CallContext, 'providers'>,
): OthersOf {
  const named = namedModels(json)
  return ({ provider, model, changes }) => {
    const set = Object.entries(changes?.set ?? {})
    if (named.length === 0 && set.length === 0) return named
    const isTranslated = !!providers.get(provider)?.dialects.get(dialect)?.translation?.(request, model)
    if (!changes) return isTranslated ? [] : othersThan(model, named)
    const relayed = Object.entries(isTranslated ? {} : json).filter(([name]) => !changes.omit.includes(name))
    const ours = set.map(([name, text]) => [name, JSON.parse(text) as unknown])
    return othersThan(model, namedModels(Object.fromEntries([...relayed, ...ours])))
  }
}

/** Returns the route without the targets that refuse the request's other models. Throws if none is left. */
export function withoutOtherModels(
  route: Route,
  others: OthersOf,
  { config }: Pick<CallContext, 'config'>,
): Route {
  const refused = (target: Target): NamedModel | undefined =>
    config.providers[target.provider]?.other_models === 'refuse' ? others(target)[0] : undefined
  const reasonFor = (target: Target) => {
    const named = refused(target)
    return named ? `the request names other models (${named.member})` : null
  }
  return withoutTargets(route, reasonFor, () => {
    const [target] = route.candidates
    const { member, name } = refused(target)!
    return new GatewayError(
      'invalid_request',
      `${member}: names another model (${name.slice(0, 256)}), and the provider ${target.provider} is set to \`other_models: refuse\`; remove this member, or ask for that model itself.`,
      { param: member },
    )
  })
}
