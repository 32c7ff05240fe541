// Finds the targets of a request: those of the model that its body names, if the gateway knows it, else the
// provider of the endpoint. Knows the body only as its head.
import type { CallContext } from '../call/context.ts'
import { type Route, type Target, targetId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { ObjectMaker } from '../store/reads.ts'
import type { Head, Member } from './head.ts'
import { DoubleMemberError } from './head.ts'
import { nothingThere } from './objects.ts'
import type { Operation, Owner } from './operations.ts'

/** Dialects of providers that have the endpoints of an owner. */
const SPOKEN: Readonly<Record<Owner, readonly string[]>> = {
  chat: ['chat', 'embeddings', 'images', 'responses'],
  messages: ['messages'],
  gemini: ['gemini'],
}

/** A request's model, and where it goes. */
export interface Directed {
  /** Byte for byte as sent; empty if the head names none. */
  readonly requestedModel: string
  readonly route: Route
  /** Place of the model in the head, if the gateway knows it: each target has its own. */
  readonly model: Member | null
}

/** Returns the targets of a request. Throws `model_not_found`, `invalid_request` or `no_target_available`. */
export function direct(operation: Operation, head: Head, context: CallContext): Directed {
  const { owner } = operation
  const named = memberOf(head, 'model')
  const model = named?.value ?? ''
  if (model.length > 256)
    throw new GatewayError('invalid_request', 'model: is longer than 256 characters.', { param: 'model' })
  const found = named && context.router.resolve(model)
  if (!found) return { requestedModel: model, route: ofDefault(operation, model, context), model: null }
  const able = found.candidates.filter(({ provider }) => speaks(provider, owner, context))
  // A direct id has one candidate, a route the order in which it would try them.
  const ordered = [...able.filter(isReady), ...able.filter((each) => !isReady(each))]
  const [first, ...others] = ordered.map(
    ({ provider, model, tier }): Target => ({ provider, model, tier, weight: 1 }),
  )
  if (!first)
    throw new GatewayError(
      'dialect_not_spoken',
      `${model} has no target with ${operation.path}: its providers do not speak the interface of this endpoint.`,
      { param: 'model' },
    )
  const skipped = found.candidates
    .filter((each) => !able.includes(each))
    .map((each) => ({ target: targetId({ ...each, model: each.model }), reason: 'has no such endpoint' }))
  return {
    requestedModel: model,
    model: named,
    route: {
      name: found.route,
      strategy: found.strategy,
      candidates: [first, ...others],
      decision: { cause: found.strategy, skipped },
    },
  }
}

const isReady = ({ state }: { readonly state: string }): boolean => state === 'ready'

/** Returns a member of the head; null if it is not there. Throws if it is there twice. */
export function memberOf(head: Head, name: string): Member | null {
  try {
    return head.member(name) ?? null
  } catch (error) {
    if (!(error instanceof DoubleMemberError)) throw error
    throw new GatewayError('invalid_request', `${name}: is there twice; send it once.`, { param: name })
  }
}

/**
 * Returns true if a provider has the endpoints of an owner itself. Nothing is translated here, and a platform with
 * paths and signatures of its own is not one of them.
 */
const speaks = (
  name: string,
  owner: Owner,
  { config, providers }: Pick<CallContext, 'config' | 'providers'>,
): boolean =>
  providers.get(name)!.platform === null &&
  config.providers[name]!.dialect.some((dialect) => SPOKEN[owner].includes(dialect))

/** Returns the route to the provider that the configuration has for an endpoint, else to the first with it. */
function ofDefault(
  { group, owner, path }: Operation,
  model: string,
  context: Pick<CallContext, 'config' | 'providers'>,
): Route {
  const { providers, passthrough_providers: chosen } = context.config
  const provider = [...(chosen[group] ?? []), ...Object.keys(providers)].find((name) =>
    speaks(name, owner, context),
  )
  if (provider === undefined)
    throw new GatewayError('no_target_available', `No provider of the configuration has ${path}.`)
  return toProvider(provider, model, `default provider of ${group}`)
}

/** Returns the route to the provider that keeps an object. Throws `not_found` if it is configured no more. */
export function toKeeper(
  { provider, id }: ObjectMaker,
  { owner }: Operation,
  context: Pick<CallContext, 'config' | 'providers'>,
): Directed {
  if (!Object.hasOwn(context.config.providers, provider) || !speaks(provider, owner, context))
    throw nothingThere(id)
  return { requestedModel: '', model: null, route: toProvider(provider, '', 'keeps the object') }
}

/** Returns the route to a provider, whatever the model. */
const toProvider = (provider: string, model: string, cause: string): Route => ({
  name: null,
  strategy: 'direct',
  candidates: [{ provider, model, tier: null, weight: 1 }],
  decision: { cause, skipped: [] },
})
