// Implements `on_loss` of a route: before sending, skips targets if translating the request for them would lose more
// than the route allows. Independent of the dialect.

import type { RouteConfig } from '../config/load.ts'
import { type Route, type Target, withoutTargets } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { ClientRequest } from '../dialects/client-request.ts'
import type { ClientDialect } from '../dialects/dialect.ts'
import { refuseWrongNumbers } from '../dialects/wrong-numbers.ts'
import type { CallContext } from './context.ts'

/**
 * Returns the route without the targets that would lose too much. Throws `translation_lossy` if none is left.
 * Throws `invalid_request` if a translation needs a number and the value has another type.
 */
export function withoutLossy(
  route: Route,
  request: ClientRequest,
  { name }: ClientDialect,
  { config, providers }: Pick<CallContext, 'config' | 'providers'>,
): Route {
  const translationFor = ({ provider, model }: Target) =>
    providers.get(provider)!.dialects.get(name)!.translation?.(request, model) ?? null
  if (route.candidates.some(translationFor)) refuseWrongNumbers(request.text)
  const policy = route.name === null ? 'allow' : (config.routes[route.name]?.on_loss ?? 'allow')
  if (policy === 'allow') return route
  const reasonFor = (target: Target): string | null => {
    const provider = providers.get(target.provider)!
    const translation = translationFor(target)
    translation?.request(request, target.model, { basePath: provider.basePath, key: null })
    const losses = new Set([...(request.lost ?? []), ...(translation?.losses ?? [])])
    const refused = [...losses].filter((loss) => isRefused(policy, loss))
    return refused.length > 0 ? `would lose ${refused.join(', ')}` : null
  }
  return withoutTargets(route, reasonFor, (skipped) => {
    const why = skipped.map(({ target, reason }) => `${target} ${reason}`).join('; ')
    return new GatewayError(
      'translation_lossy',
      `The route ${JSON.stringify(route.name)} refuses to translate this request with losses (${why}). Remove these parts, or ask for a model that speaks ${name}.`,
    )
  })
}

const isRefused = (policy: RouteConfig['on_loss'], loss: string): boolean =>
  policy === 'refuse' || (Array.isArray(policy) && (policy as string[]).includes(loss))
