// A provider of which only one thing is known: it speaks OpenAI's dialect. For example Together, vLLM, or a company's own.
import { modelList, openAiChat, openAiEmbeddings, openAiRefusal } from './openai-dialect.ts'
import { openAiResponses } from './openai-responses.ts'
import { bearer, type Provider } from './provider.ts'
import type { Recording } from './recording.ts'

export const openAiLike = (name: string, origin: string, basePath: string): Provider => ({
  name,
  origin,
  basePaths: [basePath],
  endpoints: [openAiChat(), openAiResponses, openAiEmbeddings, modelList],
  credential: bearer,
  refusal: openAiRefusal,
  unknownField: () => null,
})

/** Stand-ins for the providers that were recorded and are none of `known`. Where they really live, no recording says. */
export function othersRecorded(recordings: readonly Recording[], known: readonly Provider[]): Provider[] {
  const others = Map.groupBy(recordings, ({ provider }) => provider)
  for (const { name } of known) others.delete(name)
  return [...others].map(([name, those]) =>
    openAiLike(name, `https://${name.replace(/[^a-z\d-]/gi, '-')}.invalid`, basePathOf(those)),
  )
}

/** What stands before the endpoint in the first recorded path that ends in one. */
function basePathOf(recordings: readonly Recording[]): string {
  for (const { endpoint, request } of recordings)
    if (request.path.endsWith(`/${endpoint}`)) return request.path.slice(0, -endpoint.length - 1)
  return ''
}
