// Reads a request, and finds its route by its model, its needs, its session and its key's budget. Leaves out or moves the
// targets that must not or cannot serve it. Reaches no provider and writes nothing. Reserves the budget.

import type { RouteConfig } from '../config/load.ts'
import { mostOutput } from '../core/budget.ts'
import {
  type Call,
  type Purpose,
  type Route,
  type Target,
  targetId,
  timeOfId,
  withoutTargets,
} from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { type NamedModel, namedModels, othersThan } from '../core/other-models.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import { callerCredentialMissing } from '../credentials/caller.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import type { ClientRequest } from '../dialects/blocks.ts'
import type { ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import { refuseWrongNumbers } from '../dialects/request-fields.ts'
import type { JsonBody } from '../http/body.ts'
import { agentOf, parentOf, purposeOf, sessionOf } from '../http/client.ts'
import type { Admitted } from '../http/endpoint.ts'
import type { Provider } from '../providers/send.ts'
import type { Routed } from '../routing/router.ts'
import type { CallContext } from './context.ts'
import type { KeptState } from './provider-state.ts'

/** A request with its route. */
export interface RoutedRequest {
  readonly request: ClientRequest
  readonly route: Route
  readonly tracker: Routed['tracker']
  readonly sessionId: string | null
  /**
   * Session, or a name derived from the beginning of the conversation. Selects one of the provider's keys.
   */
  readonly conversation: string | null
  readonly agentId: string | null
  readonly purpose: Purpose
  /** True if the provider's id for the answer is recorded. */
  readonly keepsAnswer: boolean
  /** True if the answer may come from the cache. */
  readonly isRepeatable: boolean
}

/**
 * Finds the route. Returns a promise only if other gateways must be asked. `kept`: state that only one
 * provider has.
 */
export function findRoute(
  dialect: ClientDialect,
  { json }: JsonBody,
  read: ReadRequest,
  kept: KeptState | null,
  { request: { headers }, requestId: callId, caller }: Admitted,
  context: CallContext,
): RoutedRequest | Promise<RoutedRequest> {
  const { request, sessionHints, keepsAnswer = true, noKeeper } = read
  const purpose = read.purpose ?? purposeOf(headers, read.traits)
  const traits = Object.assign(read.traits, { purpose, client: context.clientOf(headers) })
  const sessionId = sessionOf(headers, sessionHints)
  const agentId = agentOf(headers)
  const keyName = caller.name
  const { name, staysWithModel } = dialect
  const routed = context.router.route(request.model, {
    ...{ dialect: name, staysWithModel, sessionId, agentId, purpose, keyName, traits, kept, noKeeper },
  })
  if (!routed) throw unknownModel(request.model)
  const { tracker, conversation } = routed
  const isRepeatable = !noKeeper && !kept?.changes && !request.lost
  const found = (route: Route): RoutedRequest => ({
    ...{ request, route, tracker, sessionId, conversation, agentId, purpose, keepsAnswer, isRepeatable },
  })
  try {
    const sized = smallLast(routed.route, { text: request.text, json, traits }, context.providers)
    const usable = withoutCredentialless(sized, caller.credential, context)
    const others = othersIn(json, request, name, context)
    const relayed = withoutOtherModels(usable, others, context)
    const allowed = withoutLossy(relayed, request, dialect, context)
    const reserved = context.limits.reserve({
      ...{ callId, keyName, sessionId, route: allowed, traits, body: json, others },
    })
    if (!(reserved instanceof Promise)) return found(reserved)
    return reserved.then(found, (error) => {
      tracker.over()
      throw error
    })
  } catch (error) {
    tracker.over()
    throw error
  }
}

/** Reads a request. Throws if it is refused. */
export function readRequest(
  dialect: ClientDialect,
  { text, json }: JsonBody,
  { request: { headers }, path, rest, query }: Admitted,
  { keyGuard, tracing }: CallContext,
): ReadRequest {
  const read = dialect.parse({ text, json, headers, path, rest, query })
  const { forwarded } = read.request
  const { tracestate } = headers
  keyGuard.forwarded(tracing && tracestate ? [...forwarded, String(tracestate)] : forwarded, headers)
  return read
}

/** Factor by which the estimated input may be too low. */
const MARGIN = 1.1

/** Maximum tokens per character. */
const MAX_TOKENS_PER_CHARACTER = 2

/**
 * Returns the route with the targets known to be too small at the end. Leaves out none, because the size of a request is
 * only an estimate; windows set by the operator exclude targets in an earlier step (ROUTE-12). `text`: the body; `json`: the parsed
 * body.
 */
export function smallLast(
  route: Route,
  { text, json, traits }: { readonly text: string; readonly json: unknown; readonly traits: RequestTraits },
  providers: ReadonlyMap<string, Provider>,
): Route {
  const { candidates } = route
  if (candidates.length < 2) return route
  const windowOf = ({ provider, model }: Target) =>
    providers.get(provider)?.windowOf(model) ?? Number.POSITIVE_INFINITY
  const smallest = Math.min(...candidates.map(windowOf))
  if (smallest === Number.POSITIVE_INFINITY) return route
  const output = mostOutput(json as Record<string, unknown>, 0)
  // Most requests are so short that no estimate is needed.
  if (text.length * MAX_TOKENS_PER_CHARACTER + output <= smallest) return route
  const needed = traits.inputTokens * MARGIN + output
  const isSmall = (target: Target) => windowOf(target) < needed
  const small = candidates.filter(isSmall)
  const [first, ...rest] = [...candidates.filter((target) => !isSmall(target)), ...small]
  if (small.length === 0 || small.length === candidates.length) return route
  const reasons = small.map((target) => ({
    target: targetId(target),
    reason: `window of ${windowOf(target)} tokens may be too small; tried last`,
  }))
  const skipped = [...route.decision.skipped, ...reasons]
  return { ...route, candidates: [first!, ...rest], decision: { ...route.decision, skipped } }
}

/** Returns true if a target uses the caller's own credential. */
const takesCallers = ({ provider }: Target, { providers }: Pick<CallContext, 'providers'>): boolean =>
  providers.get(provider)!.credentials.areCallers

/** Returns true if the call may go to a provider with the caller's own credential. */
export const mayUseCallers = (route: Route, context: Pick<CallContext, 'providers'>): boolean =>
  route.candidates.some((target) => takesCallers(target, context))

/**
 * Returns the route. If the call has no credential, leaves out the targets that need one. Throws if no target is
 * left.
 */
export function withoutCredentialless(
  route: Route,
  credential: CallerCredential | null | undefined,
  context: Pick<CallContext, 'providers'>,
): Route {
  if (credential || !mayUseCallers(route, context)) return route
  return withoutTargets(
    route,
    (target) => (takesCallers(target, context) ? "needs the caller's own credential" : null),
    () =>
      new GatewayError(
        'invalid_api_key',
        `No credential for ${callerCredentialMissing(route.candidates[0].provider)}.`,
      ),
  )
}

/** Returns a context that masks the caller's own credential in the same way as the operator's keys. */
export const maskingOwn = (
  context: CallContext,
  credential: CallerCredential | null | undefined,
): CallContext =>
  credential ? { ...context, mask: (text) => context.mask(credential.masked(text)) } : context

/** Returns the other models that a target's provider may use for a request. */
type OthersOf = (target: Target) => readonly NamedModel[]

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
  let found: NamedModel[] | null = null
  return ({ provider, model, changes }) => {
    found ??= namedModels(json)
    const named = found
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

/**
 * Returns the route without the targets that would lose too much. Throws `translation_lossy` if none is left.
 * Throws `invalid_request` if a translation needs a number and the value has another type.
 */
function withoutLossy(
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

export function unknownModel(model: string): GatewayError {
  const message = `No route and no provider/model is called ${JSON.stringify(model)}; GET /v1/models lists what there is.`
  return new GatewayError('model_not_found', message, { param: 'model' })
}

/** Returns a call as it goes on record. */
export const describedCall = (
  { caller, requestId: id, path, request }: Pick<Admitted, 'caller' | 'requestId' | 'path' | 'request'>,
  { model, stream }: Pick<ClientRequest, 'model' | 'stream'>,
  known: Pick<Call, 'sessionId' | 'agentId' | 'purpose' | 'traceparent' | 'transport' | 'cache'>,
  { clientOf, replay }: Pick<CallContext, 'clientOf' | 'replay'>,
): Call => ({
  id,
  createdAt: timeOfId(id),
  endpoint: path.replace('*', '{model}'),
  requestedModel: model,
  sessionId: known.sessionId,
  agentId: known.agentId,
  parentId: parentOf(request.headers),
  purpose: known.purpose,
  client: clientOf(request.headers),
  traceparent: known.traceparent,
  keyName: caller.name,
  stream,
  replayed: replay,
  transport: known.transport,
  cache: known.cache,
})
