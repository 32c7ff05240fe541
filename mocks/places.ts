// Which provider a request is for: by the address that was configured, by its origin, as clients send it, or by a path
// on the witness, where the first segment names the provider. Pure: knows addresses, not what is done there.

import { openAiLike } from './openai-like.ts'
import { hostName } from './paths.ts'
import { endpointOf, type Provider } from './provider.ts'

/** A folder of recordings, and a request's path below the base path that counts there. */
export interface Kept {
  readonly provider: string
  readonly path: string
}

export interface Place {
  readonly provider: Provider
  readonly basePath: string
  /** Below the base path, without a slash in front. */
  readonly path: string
  /** Where recordings of it are looked for before those of `provider`, because the user gave it another name. */
  readonly kept?: readonly Kept[]
}

/** Provider name -> base URL, as configured. */
export type Configured = Readonly<Record<string, string>>

/**
 * The provider that a request is for, where providers have names of their own: the stand-in that lives there, or one
 * that speaks OpenAI's dialect. Null where there is no provider.
 */
export function placeOf(
  providers: readonly Provider[],
  configured: Configured,
  method: string,
  url: URL,
): Place | null {
  const standIn = placeAt(providers, url)
  const names = Object.entries(configured).map(([name, base]) => ({ name, ...baseOf(base) }))
  const here = names.filter(
    ({ origin, path }) => origin === url.origin && url.pathname.startsWith(`${path}/`),
  )
  const basePath = here.reduce((longest, { path }) => (path.length > longest.length ? path : longest), '')
  const those = here.filter(({ path }) => path === basePath)
  if (those.length === 0) return standIn
  const path = decoded(url.pathname.slice(basePath.length + 1))
  const kept = those.map(({ name }) => ({ provider: name, path }))
  if (standIn && endpointOf(standIn.provider, method, standIn.path)) return { ...standIn, kept }
  const byHost = { provider: hostName(url.host), path: url.pathname } // as it is imported
  return {
    provider: openAiLike(those[0]!.name, url.origin, basePath),
    basePath,
    path,
    kept: [...kept, byHost],
  }
}

/** Whether there is any recording of the provider that is configured under this name. */
export function isKept(
  providers: readonly Provider[],
  recordings: readonly { readonly provider: string }[],
  name: string,
  base: string,
): boolean {
  const url = new URL(`${base.replace(/\/+$/, '')}/chat/completions`)
  const { provider, kept = [] } = placeOf(providers, { [name]: base }, 'POST', url)!
  const folders = [provider.name, ...kept.map((one) => one.provider)]
  return recordings.some((recording) => folders.includes(recording.provider))
}

const baseOf = (base: string): { origin: string; path: string } => {
  const { origin, pathname } = new URL(base)
  return { origin, path: pathname.replace(/\/+$/, '') }
}

/** The provider that lives at an address; null where none does. */
export function placeAt(providers: readonly Provider[], { origin, pathname }: URL): Place | null {
  const provider = providers.find((one) => one.origin === origin || one.origins?.test(origin))
  return provider ? below(provider, pathname) : null
}

/**
 * The provider that a path on the witness is for: `/groq/openai/v1/models`. A path that begins with no provider's name
 * goes to the first one that has such an endpoint (`/v1/chat/completions` is OpenAI's, `/v1/messages` Anthropic's),
 * or else to the first of all.
 */
export function placeUnder(providers: readonly Provider[], method: string, pathname: string): Place {
  const [, first, rest] = /^\/([^/]+)(\/.*)?$/.exec(pathname) ?? []
  const named = providers.find(({ name }) => name === first)
  if (named) return below(named, rest ?? '/')
  const places = providers.map((provider) => below(provider, pathname))
  return places.find(({ provider, path }) => endpointOf(provider, method, path)) ?? places[0]!
}

function below(provider: Provider, pathname: string): Place {
  const base = provider.basePaths.find((one) => pathname.startsWith(`${one}/`))
  return { provider, basePath: base ?? '', path: decoded(pathname.slice((base ?? '').length + 1)) }
}

/** A model id in a path may come encoded. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
