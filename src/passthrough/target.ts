// Finds the targets of a request: the targets of the model named in its body, if the gateway has this model,
// or else the endpoint's provider. Reads only the beginning of the body.
import type { CallContext } from '../call/context.ts'
import { nothingThere } from '../call/objects.ts'
import { type Route, type Target, targetId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { ObjectMaker } from '../store/reads.ts'
import { DoubleMemberError, type Head, type Member } from './head.ts'
import type { Operation, Owner } from './operations.ts'

/** Dialects of the providers that have an owner's endpoints. */
const SPOKEN: Readonly<Record<Owner, readonly string[]>> = {
  chat: ['chat', 'embeddings', 'images', 'responses'],
  messages: ['messages'],
  gemini: ['gemini', 'interactions'],
}

/** A request's model and targets. */
export interface Directed {
  /** Requested model, byte for byte as sent; empty if the head names none. */
  readonly requestedModel: string
  readonly route: Route
  /**
   * Place of the model's name in the head, if the gateway has the model. Each target has its own name for it.
   */
  readonly model: Member | null
}

/** Returns the targets of a request. Throws `model_not_found`, `invalid_request` or `no_target_available`. */
export function direct(operation: Operation, head: Head, context: CallContext): Directed {
  const { owner } = operation
  const named = memberOf(head, 'model')
  const model = named?.value ?? ''
  if (model.length > 256)
    throw new GatewayError('invalid_request', 'model: is longer than 256 characters.', { param: 'model' })
  const bare = owner === 'gemini' ? model.replace(/^models\//, '') : model // Google's full name
  const found = named && context.router.resolve(bare)
  if (!found) return { requestedModel: model, route: ofDefault(operation, model, context), model: null }
  const able = found.candidates.filter(({ provider }) => speaks(provider, owner, context))
  // A direct id has one candidate. A route orders its candidates as for a call.
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

/** Returns a member of the head; null if it is missing. Throws if it appears twice. */
export function memberOf(head: Head, name: string): Member | null {
  try {
    return head.member(name) ?? null
  } catch (error) {
    if (!(error instanceof DoubleMemberError)) throw error
    throw new GatewayError('invalid_request', `${name}: is there twice; send it once.`, { param: name })
  }
}

/**
 * Returns true if the provider itself serves the owner's endpoints. Nothing is translated here. False for
 * platforms, which have other paths and signatures.
 */
const speaks = (
  name: string,
  owner: Owner,
  { config, providers }: Pick<CallContext, 'config' | 'providers'>,
): boolean =>
  providers.get(name)!.platform === null &&
  config.providers[name]!.dialect.some((dialect) => SPOKEN[owner].includes(dialect))

/** Returns the route to the configured provider of an endpoint, or else to the first provider that has it. */
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

/**
 * Returns the route to the provider that stores an object. Throws `not_found` if it is no longer configured.
 */
export function toKeeper(
  { provider, id }: ObjectMaker,
  { owner }: Operation,
  context: Pick<CallContext, 'config' | 'providers'>,
): Directed {
  if (!Object.hasOwn(context.config.providers, provider) || !speaks(provider, owner, context))
    throw nothingThere(id)
  return { requestedModel: '', model: null, route: toProvider(provider, '', 'keeps the object') }
}

/** Returns the route to a provider, for any model. */
const toProvider = (provider: string, model: string, cause: string): Route => ({
  name: null,
  strategy: 'direct',
  candidates: [{ provider, model, tier: null, weight: 1 }],
  decision: { cause, skipped: [] },
})
