// Providers known only to use OpenAI's dialect, for example Together, vLLM, or a company's own server.

import { bearer, type MockProvider } from '../provider.ts'
import type { Recording } from '../recording/format.ts'
import { openAiChatFields } from '../schemas/openai-chat.ts'
import { modelList, openAiAccent, openAiChat, openAiEmbeddings, openAiRefusal } from './openai-chat.ts'
import { openAiResponses } from './openai-responses.ts'

export const openAiLike = (name: string, origin: string, basePath: string): MockProvider => ({
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
