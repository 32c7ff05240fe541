// Which provider a request is for: by its origin, as clients send it, or by a path on the witness, where the first
// segment names the provider. Pure: knows addresses, not what is done there.
import { endpointOf, type Provider } from './provider.ts'

export interface Place {
  readonly provider: Provider
  readonly basePath: string
  /** Below the base path, without a slash in front. */
  readonly path: string
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
