// OpenAI's endpoints without a conversation. They answer from recordings; recorded speech is silence.
import type { z } from 'zod'
import type { Arrived, Endpoint, Wants } from '../provider.ts'
import { type Fit, fitImages, isUnaskedImage } from '../recording/fit.ts'
import { fitModerations, fitSpeech } from '../recording/fit-others.ts'
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
