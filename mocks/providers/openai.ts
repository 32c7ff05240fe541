// OpenAI itself: the dialect that the others follow.
import { modelList, openAiChat, openAiEmbeddings, openAiRefusal } from '../openai-dialect.ts'
import { bearer, type Provider } from '../provider.ts'

/** The stand-in for OpenAI. */
export const openai = {
  name: 'openai',
  origin: 'https://api.openai.com',
  basePaths: ['/v1'],
  endpoints: [openAiChat(), openAiEmbeddings, modelList],
  credential: bearer,
  refusal: openAiRefusal,
  unknownField: (name) => `Unrecognized request argument supplied: ${name}`,
} satisfies Provider
