// OpenAI's endpoints without a dialect of their own, and reranking.
import { z } from 'zod'
import type { Arrived, Endpoint, Wants } from '../provider.ts'
import {
  type Fit,
  fitImages,
  fitModerations,
  fitRerank,
  fitSpeech,
  isUnaskedImage,
} from '../recording/fit.ts'
import {
  completionBody,
  imageEditForm,
  imageVariationForm,
  moderationBody,
  speechBody,
  transcriptionForm,
  translationForm,
} from '../schemas/openai-others.ts'
import { openAiWants } from './openai-chat.ts'

const endpoint = (name: string, body: z.ZodObject, fit?: Fit): Endpoint => ({
  ...{ method: 'POST', name, body, wants: openAiWants, speech: null },
  ...(fit && { fit }),
})

type Fields = Readonly<Record<string, unknown>>

/** Reads the request's properties from a form. Every field of a form is text. */
function formWants({ json }: Arrived): Wants {
  const { model, stream } = (json ?? {}) as Fields
  return {
    ...{ model: typeof model === 'string' ? model : null, stream: stream === 'true' },
    ...{ usage: true, tools: false },
  }
}

const form = (name: string, body: z.ZodObject, fit?: Fit): Endpoint => ({
  ...endpoint(name, body, fit),
  ...{ takesForm: true, wants: formWants },
})

/** Speech is streamed as events if the request asks for this format. */
const speech: Endpoint = {
  ...endpoint('audio/speech', speechBody, fitSpeech),
  wants: (request) => ({
    ...openAiWants(request),
    stream: (request.json as Fields | undefined)?.stream_format === 'sse',
  }),
}

const completions: Endpoint = {
  ...endpoint('completions', completionBody),
  wants: (request) => ({ ...openAiWants(request), usage: true }),
}

export const openAiOthers: readonly Endpoint[] = [
  speech,
  form('audio/transcriptions', transcriptionForm),
  form('audio/translations', translationForm),
  { ...form('images/edits', imageEditForm, fitImages), leavesOut: isUnaskedImage },
  form('images/variations', imageVariationForm, fitImages),
  endpoint('moderations', moderationBody, fitModerations),
  completions,
]

/** A text, or an object with fields of its own. */
export const rerankDocument = z.union([z.string(), z.looseObject({})])

/** Makes the endpoint. `own`: fields that only this provider has, or that it validates differently. */
export const rerankEndpoint = (own: z.ZodRawShape): Endpoint => ({
  ...{ method: 'POST', name: 'rerank', wants: openAiWants, speech: null, fit: fitRerank },
  body: z.looseObject({
    model: z.string().min(1),
    query: z.string().min(1),
    documents: z.array(rerankDocument).min(1),
    top_n: z.int().min(1).nullish(),
    return_documents: z.boolean().nullish(),
    ...own,
  }),
})
