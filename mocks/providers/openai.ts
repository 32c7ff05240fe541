// OpenAI: the dialect that other providers follow, and endpoints that have no dialect of their own: speech, transcriptions,
// translations, pictures, moderations, and older completions. Their schemas have the fields of the public API reference,
// their types and ranges. In a form, every field except files is text.
import { z } from 'zod'
import {
  modelList,
  openAiChat,
  openAiEmbeddings,
  openAiRefusal,
  openAiWants,
} from '../dialects/openai-chat.ts'
import { keptResponses, openAiResponses } from '../dialects/openai-responses.ts'
import { FormFile } from '../form.ts'
import { type Arrived, bearer, type Endpoint, type MockProvider, type Wants } from '../provider.ts'
import { type Fit, fitImages, fitModerations, fitSpeech, isUnaskedImage } from '../recording/fit.ts'
import { OpenAiObjectStore, openAiObjectEndpoints } from '../stored-objects/openai.ts'

const file = z.custom<FormFile>((value) => value instanceof FormFile, 'Expected a file')
const files = z.union([file, z.array(file).min(1).max(16)], 'Expected a file')
const numeral = (max: number) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/)
    .refine((text) => Number(text) <= max, `Expected at most ${max}`)

const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const

/** Body of `POST audio/speech`. */
const speechBody = z.looseObject({
  model: z.string().min(1),
  input: z.string().min(1).max(4096),
  voice: z.union([z.string().min(1), z.looseObject({ id: z.string() })]),
  instructions: z.string().max(4096).nullish(),
  response_format: z.enum(SPEECH_FORMATS).nullish(),
  speed: z.number().min(0.25).max(4).nullish(),
  stream_format: z.enum(['audio', 'sse']).nullish(),
})

/** Form of `POST audio/transcriptions`. */
const transcriptionForm = z.looseObject({
  file,
  model: z.string().min(1),
  language: z.string().optional(),
  prompt: z.string().optional(),
  response_format: z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json']).optional(),
  stream: z.enum(['true', 'false']).optional(),
  temperature: numeral(1).optional(),
})

/** Form of `POST audio/translations`. */
const translationForm = z.looseObject({
  file,
  model: z.string().min(1),
  prompt: z.string().optional(),
  response_format: z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt']).optional(),
  temperature: numeral(1).optional(),
})

const pictures = {
  model: z.string().min(1).optional(),
  n: numeral(10).optional(),
  response_format: z.enum(['url', 'b64_json']).optional(),
  user: z.string().optional(),
}

/** Form of `POST images/edits`. Several pictures are sent as `image[]`. */
const imageEditForm = z
  .looseObject({
    image: files.optional(),
    'image[]': files.optional(),
    mask: file.optional(),
    prompt: z.string().min(1).max(32_000),
    background: z.enum(['transparent', 'opaque', 'auto']).optional(),
    input_fidelity: z.enum(['high', 'low']).optional(),
    output_compression: numeral(100).optional(),
    partial_images: numeral(3).optional(),
    stream: z.enum(['true', 'false']).optional(),
    quality: z.enum(['standard', 'low', 'medium', 'high', 'auto']).optional(),
    output_format: z.enum(['png', 'jpeg', 'webp']).optional(),
    size: z
      .string()
      .regex(/^(auto|\d+x\d+)$/)
      .optional(),
    ...pictures,
  })
  .superRefine((form, context) => {
    if (form.image === undefined && form['image[]'] === undefined)
      context.addIssue({ code: 'invalid_type', expected: 'file', input: undefined, path: ['image'] })
  })

/** Form of `POST images/variations`. */
const imageVariationForm = z.looseObject({
  image: file,
  size: z.enum(['256x256', '512x512', '1024x1024']).optional(),
  ...pictures,
})

/** Body of `POST moderations`. */
const moderationBody = z.looseObject({
  input: z.union([
    z.string(),
    z.array(z.string()).min(1),
    z.array(z.looseObject({ type: z.enum(['text', 'image_url']) })).min(1),
  ]),
  model: z.string().min(1).optional(),
})

/** Body of `POST completions`. */
const completionBody = z.looseObject({
  model: z.string().min(1),
  prompt: z.union([z.string(), z.array(z.union([z.string(), z.int(), z.array(z.int())])).min(1)]),
  best_of: z.int().min(0).max(20).nullish(),
  echo: z.boolean().nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  logprobs: z.int().min(0).max(5).nullish(),
  max_tokens: z.int().min(0).nullish(),
  n: z.int().min(1).max(128).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({}).nullish(),
  suffix: z.string().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  user: z.string().optional(),
})

/** Body of `POST images/generations`. */
export const openAiImagesBody = z.looseObject({
  prompt: z.string().min(1).max(32_000),
  background: z.enum(['transparent', 'opaque', 'auto']).nullish(),
  model: z.string().min(1).nullish(),
  moderation: z.enum(['low', 'auto']).nullish(),
  n: z.int().min(1).max(10).nullish(),
  output_compression: z.int().min(0).max(100).nullish(),
  output_format: z.enum(['png', 'jpeg', 'webp']).nullish(),
  partial_images: z.int().min(0).max(3).nullish(),
  quality: z.enum(['standard', 'hd', 'low', 'medium', 'high', 'auto']).nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish(),
  size: z
    .string()
    .regex(/^(auto|\d+x\d+)$/)
    .nullish(),
  stream: z.boolean().nullish(),
  style: z.enum(['vivid', 'natural']).nullish(),
  user: z.string().optional(),
})

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

const openAiOthers: readonly Endpoint[] = [
  speech,
  form('audio/transcriptions', transcriptionForm),
  form('audio/translations', translationForm),
  { ...form('images/edits', imageEditForm, fitImages), leavesOut: isUnaskedImage },
  form('images/variations', imageVariationForm, fitImages),
  endpoint('moderations', moderationBody, fitModerations),
  completions,
]

const images: Endpoint = {
  ...endpoint('images/generations', openAiImagesBody, fitImages),
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
