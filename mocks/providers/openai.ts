// OpenAI itself: the dialect that the others follow.
import { modelList, openAiChat, openAiEmbeddings, openAiRefusal, openAiWants } from '../openai-dialect.ts'
import { openAiResponses } from '../openai-responses.ts'
import { bearer, type Endpoint, type Provider } from '../provider.ts'
import { openAiImagesBody } from '../schemas/openai-images.ts'

const images: Endpoint = {
  method: 'POST',
  name: 'images/generations',
  kind: 'inference',
  body: openAiImagesBody,
  wants: openAiWants,
  speech: null,
}

/** The stand-in for OpenAI. */
export const openai = {
  name: 'openai',
  origin: 'https://api.openai.com',
  basePaths: ['/v1'],
  endpoints: [openAiChat(), openAiResponses, openAiEmbeddings, images, modelList],
  credential: bearer,
  refusal: openAiRefusal,
  invalidField: (field, issue) =>
    issue.endsWith('received undefined')
      ? `Missing required parameter: '${field}'.`
      : `Invalid value for '${field}': ${issue}.`,
  unknownField: (name) => `Unrecognized request argument supplied: ${name}`,
} satisfies Provider
