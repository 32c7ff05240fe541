// All mock providers, and the provider of a request: by its configured address, by the origin that clients use, or by the
// first segment of a path on the mock server. A provider that is known only to use OpenAI's dialect, for example Together,
// vLLM, or a company's own server, is made for its address. A new provider is an object in this folder and a line here.

import {
  modelList,
  openAiAccent,
  openAiChat,
  openAiChatFields,
  openAiEmbeddings,
  openAiRefusal,
} from '../dialects/openai-chat.ts'
import { openAiResponses } from '../dialects/openai-responses.ts'
import { bearer, endpointOf, type MockProvider } from '../provider.ts'
import type { Recording } from '../recording/format.ts'
import { hostName } from '../redaction/paths.ts'
import { anthropic } from './anthropic.ts'
import { azure, bedrock, vertex } from './clouds.ts'
import { gemini } from './gemini.ts'
import { mistral } from './mistral.ts'
import { openai } from './openai.ts'
import { cohere, deepseek, groq, jina, ollama, openrouter, xai } from './others.ts'

/** The first one answers paths that belong to no provider. */
export const providers: readonly MockProvider[] = [
  openai,
  anthropic,
  gemini,
  groq,
  openrouter,
  deepseek,
  mistral,
  xai,
  azure,
  ollama,
  bedrock,
  vertex,
  cohere,
  jina,
]

/** Folder of recordings, and the request's path below the provider's base path. */
interface RecordingFolder {
  readonly provider: string
  readonly path: string
}

export interface ProviderMatch {
  readonly provider: MockProvider
  readonly basePath: string
  /** Path below the base path, without a leading slash. */
  readonly path: string
  /**
   * Folders with recordings that have priority over those of `provider`, because the user gave the provider
   * another name.
   */
  readonly kept?: readonly RecordingFolder[]
}

/** Configured providers: name -> base URL. */
export type Configured = Readonly<Record<string, string>>

/**
 * Returns the provider of a request by the configured addresses: the mock with that address, or else a
 * provider with OpenAI's dialect. Returns null if no address fits.
 */
export function matchProvider(
  providers: readonly MockProvider[],
  configured: Configured,
  method: string,
  url: URL,
): ProviderMatch | null {
  const builtIn = placeAt(providers, url)
  const names = Object.entries(configured).map(([name, base]) => ({ name, ...baseOf(base) }))
  const here = names.filter(
    ({ origin, path }) => origin === url.origin && url.pathname.startsWith(`${path}/`),
  )
  const basePath = here.reduce((longest, { path }) => (path.length > longest.length ? path : longest), '')
  const those = here.filter(({ path }) => path === basePath)
  if (those.length === 0) return builtIn
  const path = decoded(url.pathname.slice(basePath.length + 1))
  const kept = those.map(({ name }) => ({ provider: name, path }))
  if (builtIn && endpointOf(builtIn.provider, method, builtIn.path)) return { ...builtIn, kept }
  const byHost = { provider: hostName(url.host), path: url.pathname } // named like an imported one
  return {
    provider: openAiLike(those[0]!.name, url.origin, basePath),
    basePath,
    path,
    kept: [...kept, byHost],
  }
}

/** Returns true if there are recordings for the provider configured under this name. */
export function isKept(
  providers: readonly MockProvider[],
  recordings: readonly { readonly provider: string }[],
  name: string,
  base: string,
): boolean {
  const url = new URL(`${base.replace(/\/+$/, '')}/chat/completions`)
  const { provider, kept = [] } = matchProvider(providers, { [name]: base }, 'POST', url)!
  const folders = [provider.name, ...kept.map((one) => one.provider)]
  return recordings.some((recording) => folders.includes(recording.provider))
}

const baseOf = (base: string): { origin: string; path: string } => {
  const { origin, pathname } = new URL(base)
  return { origin, path: pathname.replace(/\/+$/, '') }
}

/** Returns the provider at an address, or null. */
export function placeAt(providers: readonly MockProvider[], { origin, pathname }: URL): ProviderMatch | null {
  const provider = providers.find((one) => one.origin === origin || one.origins?.test(origin))
  return provider ? below(provider, pathname) : null
}

/**
 * Returns the provider of a path on the mock server: `/groq/openai/v1/models`. A path without a provider's
 * name belongs to the first provider with that endpoint (`/v1/chat/completions` is OpenAI's, `/v1/messages`
 * Anthropic's), or else to the first provider in the list.
 */
export function placeUnder(
  providers: readonly MockProvider[],
  method: string,
  pathname: string,
): ProviderMatch {
  const [, first, rest] = /^\/([^/]+)(\/.*)?$/.exec(pathname) ?? []
  const named = providers.find(({ name }) => name === first)
  if (named) return below(named, rest ?? '/')
  const places = providers.map((provider) => below(provider, pathname))
  return places.find(({ provider, path }) => endpointOf(provider, method, path)) ?? places[0]!
}

function below(provider: MockProvider, pathname: string): ProviderMatch {
  const base = provider.basePaths.find((one) => pathname.startsWith(`${one}/`))
  return { provider, basePath: base ?? '', path: decoded(pathname.slice((base ?? '').length + 1)) }
}

/** Decodes a model's name in a path, which may be encoded. */
export function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

const openAiLike = (name: string, origin: string, basePath: string): MockProvider => ({
  name,
  origin,
  basePaths: [basePath],
  endpoints: [openAiChat(openAiAccent, openAiChatFields), openAiResponses, openAiEmbeddings, modelList],
  credential: bearer,
  refusal: openAiRefusal,
  unknownField: () => null,
})

/** Creates mocks for recorded providers that are not in `known`. No recording contains their real address. */
export function othersRecorded(
  recordings: readonly Recording[],
  known: readonly MockProvider[],
): MockProvider[] {
  const others = Map.groupBy(recordings, ({ provider }) => provider)
  for (const { name } of known) others.delete(name)
  return [...others].map(([name, those]) =>
    openAiLike(name, `https://${name.replace(/[^a-z\d-]/gi, '-')}.invalid`, basePathOf(those)),
  )
}

/** Returns the part before the endpoint in the first recorded path that ends in one. */
function basePathOf(recordings: readonly Recording[]): string {
  for (const { endpoint, request } of recordings)
    if (request.path.endsWith(`/${endpoint}`)) return request.path.slice(0, -endpoint.length - 1)
  return ''
}
