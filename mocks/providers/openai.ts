// OpenAI: the dialect that other providers follow.

import {
  modelList,
  openAiChat,
  openAiEmbeddings,
  openAiRefusal,
  openAiWants,
} from '../dialects/openai-chat.ts'
import { openAiOthers } from '../dialects/openai-others.ts'
import { keptResponses, openAiResponses } from '../dialects/openai-responses.ts'
import { bearer, type Endpoint, type MockProvider } from '../provider.ts'
import { fitImages, isUnaskedImage } from '../recording/fit.ts'
import { openAiImagesBody } from '../schemas/openai-others.ts'
import { OpenAiObjectStore, openAiObjectEndpoints } from '../stored-objects/openai.ts'

const images: Endpoint = {
  method: 'POST',
  name: 'images/generations',
  body: openAiImagesBody,
  wants: openAiWants,
  speech: null,
  fit: fitImages,
  leavesOut: isUnaskedImage,
}

export const openai = {
  name: 'openai',
  origin: 'https://api.openai.com',
  basePaths: ['/v1'],
  endpoints: [
    ...[openAiChat(), openAiResponses, openAiEmbeddings, images, modelList],
    ...openAiOthers,
    ...openAiObjectEndpoints,
  ],
  credential: bearer,
  keeps: keptResponses,
  objectStore: () => new OpenAiObjectStore(),
  refusal: openAiRefusal,
  unknownField: (name) => `Unrecognized request argument supplied: ${name}`,
} satisfies MockProvider
