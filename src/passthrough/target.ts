// Finds the targets of a request: the targets of the model named in its body, if the gateway has this model, or else the
// endpoint's provider; then the path and the few forwarded headers for it. Reads only the beginning of the body.

import type { IncomingHttpHeaders } from 'node:http'
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

/** Headers that describe the body or the requested part of the answer, for every API. */
const FORWARDED =
  /^(content-type|accept|range|if-range|if-match|if-none-match|if-modified-since|idempotency-key)$/

/**
 * Additional headers of each API that affect the meaning of a request, excluding all credentials.
 */
const OWN: Readonly<Record<Owner, RegExp>> = {
  chat: /^openai-beta$/,
  messages: /^anthropic-(version|beta)$/,
  gemini: /^x-goog-(api-client|upload-[a-z-]+)$/,
}

/** Header for the key in each API. */
const KEY: Readonly<Record<Owner, (key: string) => readonly [string, string]>> = {
  chat: (key) => ['authorization', `Bearer ${key}`],
  messages: (key) => ['x-api-key', key],
  gemini: (key) => ['x-goog-api-key', key],
}

/** Version sent for Messages clients without a version header. Providers require a version. */
const ANTHROPIC_VERSION = ['anthropic-version', '2023-06-01'] as const

/** Returns the client's headers for the provider, as alternating names and values. */
export const forwardedHeaders = (headers: IncomingHttpHeaders, owner: Owner): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    value !== undefined && (FORWARDED.test(name) || OWN[owner].test(name)) ? [name, String(value)] : [],
  )

/** Returns all headers of the request except those for the body's length, as alternating names and values. */
export function providerHeaders(forwarded: readonly string[], key: string | null, owner: Owner): string[] {
  const headers = [...forwarded, 'accept-encoding', 'identity', 'user-agent', 'waybill']
  if (owner === 'messages' && !forwarded.includes('anthropic-version')) headers.push(...ANTHROPIC_VERSION)
  if (key !== null) headers.push(...KEY[owner](key))
  return headers
}

/** Response headers for the client, in addition to the headers of every call. */
export const RELAYED_HEADERS =
  /^(content-(length|range|disposition)|accept-ranges|etag|last-modified|(x-)?request-id|openai-processing-ms|x-ratelimit-.+|anthropic-(?!organization-id$).+|x-goog-upload-(?!url$|control-url$).+)$/

/** Returns the path of an operation at a provider. `path`: as the client requested it, with its version. */
export function providerPath(path: string, owner: Owner, basePath: string): string {
  const [, upload = '', version = '', rest = ''] = /^(\/upload)?(\/v\d\w*)(\/.*)$/.exec(path) ?? []
  // OpenAI's and Cohere's clients have the version in the base URL. Providers do the same.
  if (owner === 'chat') return `${version === '/v2' ? basePath.replace(/\/v\d+$/, '/v2') : basePath}${rest}`
  const [, before = basePath, own = version] = /^(.*?)(\/v\d[a-z\d]*)$/.exec(basePath) ?? []
  return `${before}${upload}${own}${rest}`
}

/** Returns a query for the page of a list after an id. */
export function withPage(query: string, after: string | null, owner: Owner): string {
  if (after === null) return query
  const parameters = new URLSearchParams(query)
  parameters.set(owner === 'messages' ? 'after_id' : 'after', after)
  return parameters.toString()
}
