// A provider of which nothing is known but that it speaks OpenAI's dialect: Together, vLLM, one of a company's own.
import { modelList, openAiChat, openAiEmbeddings, openAiRefusal } from './openai-dialect.ts'
import { openAiResponses } from './openai-responses.ts'
import { bearer, type Provider } from './provider.ts'

export const openAiLike = (name: string, origin: string, basePath: string): Provider => ({
  name,
  origin,
  basePaths: [basePath],
  endpoints: [openAiChat(), openAiResponses, openAiEmbeddings, modelList],
  credential: bearer,
  refusal: openAiRefusal,
  unknownField: () => null,
})
