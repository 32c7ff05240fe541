// Adapts recorded answers without words to the requested number of items and format. Pure. A format is only
// another encoding of the recording; items or lengths that were not recorded are made up.
import { createHash } from 'node:crypto'

type Json = Readonly<Record<string, unknown>>

interface Fitted {
  /** Answer in the requested form: bytes unchanged, anything else as JSON; null if it cannot be made up. */
  readonly body: unknown
  /** Content type, if it differs from the recording's. */
  readonly type?: string
  /** Description of the made-up parts: `3 inputs (recorded: 1)`. */
  readonly madeUp: readonly string[]
}

/**
 * Adapts an answer (JSON, or bytes of another type) to its request. Returns null if the answer has an
 * unexpected form, for example that of an error.
 */
export type Fit = (answer: unknown, request: unknown) => Fitted | null

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const fitEmbeddings: Fit = (answer, request) => {
  if (!isObject(answer) || !isObject(request) || !Array.isArray(answer.data)) return null
  const recorded = answer.data.filter(isObject).map(({ embedding }) => numbersOf(embedding))
  const inputs = inputsOf(request.input)
  const length = recorded[0]?.length ?? 0
  const dimensions = typeof request.dimensions === 'number' ? request.dimensions : length
  const madeUp = [
    ...(inputs.length === recorded.length ? [] : [`${inputs.length} inputs (recorded: ${recorded.length})`]),
    ...(dimensions === length ? [] : [`${dimensions} dimensions (recorded: ${length})`]),
  ]
  const format = request.encoding_format === 'base64' ? 'base64' : 'float'
  const inForm = answer.data.every((one) => (typeof one?.embedding === 'string') === (format === 'base64'))
  if (madeUp.length === 0 && inForm) return { body: answer, madeUp }
  const vectors = madeUp.length === 0 ? recorded : inputs.map((input) => vectorOf(input, dimensions))
  return {
    body: {
      ...answer,
      data: vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: format === 'base64' ? base64Of(vector) : vector,
      })),
      ...usageTimes(answer, inputs.length / Math.max(1, recorded.length)),
    },
    madeUp,
  }
}

export const fitImages: Fit = (answer, request) => {
  if (!isObject(request)) return null
  if (answer instanceof Uint8Array) return fitImageEvents(answer, numberIn(request.n, 1))
  if (!isObject(answer) || !Array.isArray(answer.data)) return null
  const { data } = answer
  const count = numberIn(request.n, data.length)
  if (count === data.length || data.length === 0) return { body: answer, madeUp: [] }
  return {
    body: {
      ...answer,
      data: Array.from({ length: count }, (_, index) => data[index % data.length]),
      ...usageTimes(answer, count / data.length),
    },
    madeUp: [`${count} images (recorded: ${data.length})`],
  }
}

const fitImageEvents = (answer: Uint8Array, count: number): Fitted =>
  count === 1
    ? { body: answer, madeUp: [] }
    : { body: null, madeUp: [`a stream of ${count} images (recorded: 1)`] }

/** Returns true for an unfinished picture if the requested number of such pictures is exceeded. */
export const isUnaskedImage = (event: unknown, request: unknown): boolean =>
  isObject(event) &&
  typeof event.partial_image_index === 'number' &&
  event.partial_image_index >= numberIn(isObject(request) ? request.partial_images : null, 0)

/** Reads a number; in a form, numbers are text. */
const numberIn = (value: unknown, otherwise: number): number => Number(value ?? otherwise)

/** Splits inputs: one text or one list of tokens is one input. */
function inputsOf(input: unknown): readonly unknown[] {
  if (!Array.isArray(input)) return [input]
  return input.every((one) => typeof one === 'number') ? [input] : input
}

const numbersOf = (embedding: unknown): number[] => {
  if (Array.isArray(embedding)) return embedding.map(Number)
  const bytes = Buffer.from(String(embedding), 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(index * 4))
}

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, number] of vector.entries()) bytes.writeFloatLE(number, index * 4)
  return bytes.toString('base64')
}

/** Returns a vector of length 1 that depends only on the input. */
function vectorOf(input: unknown, dimensions: number): number[] {
  const numbers: number[] = []
  for (let block = 0; numbers.length < dimensions; block++) {
    const digest = createHash('sha256')
      .update(`${block} ${JSON.stringify(input)}`)
      .digest()
    for (let at = 0; at < digest.length && numbers.length < dimensions; at += 4)
      numbers.push(digest.readInt32LE(at) / 2 ** 31)
  }
  const norm = Math.hypot(...numbers) || 1
  return numbers.map((number) => Number((number / norm).toFixed(9)))
}

function usageTimes({ usage }: Json, factor: number): { usage?: Json } {
  if (!isObject(usage)) return {}
  const times = (value: unknown): unknown =>
    typeof value === 'number'
      ? Math.round(value * factor)
      : isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, times(member)]))
        : value
  return { usage: times(usage) as Json }
}

/** Bytes of a WAV file before its samples. */
const WAV_HEAD_BYTES = 44

/** Frame of a silent MP3: a header for 32 kbit/s and one channel, followed by zeros. */
const MP3_FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x10, 0xc4]), Buffer.alloc(100)])
/** Frames in a tenth of a second. */
const MP3_FRAMES = 4

/** Adapts a WAV of silence, but no events; returns null for formats in which silence cannot be generated. */
export const fitSpeech: Fit = (answer, request) => {
  if (!(answer instanceof Uint8Array) || !isObject(request)) return null
  if (request.stream_format === 'sse') return { body: answer, madeUp: [] }
  const format = request.response_format ?? 'mp3' // as OpenAI does
  if (format === 'wav') return { body: answer, madeUp: [] }
  if (format === 'pcm') return { body: answer.subarray(WAV_HEAD_BYTES), type: 'audio/pcm', madeUp: [] }
  const madeUp = [`the format ${String(format)} (recorded: wav)`]
  if (format !== 'mp3') return { body: null, madeUp }
  return { body: Buffer.concat(Array(MP3_FRAMES).fill(MP3_FRAME)), type: 'audio/mpeg', madeUp }
}

/** Adapts the number of results; a list of content parts is one input. */
export const fitModerations: Fit = (answer, request) => {
  if (!isObject(answer) || !isObject(request) || !Array.isArray(answer.results)) return null
  const { results } = answer
  const { input } = request
  const count = Array.isArray(input) && typeof input[0] === 'string' ? input.length : 1
  if (count === results.length || results.length === 0) return { body: answer, madeUp: [] }
  return {
    body: { ...answer, results: Array.from({ length: count }, (_, at) => results[at % results.length]) },
    madeUp: [`${count} inputs (recorded: ${results.length})`],
  }
}

/** Adapts ranked documents: each gets a score that depends only on its text and the query. */
export const fitRerank: Fit = (answer, request) => {
  if (!isObject(answer) || !isObject(request) || !Array.isArray(answer.results)) return null
  const { documents, query, top_n, return_documents } = request
  if (!Array.isArray(documents)) return null
  const count = Math.min(typeof top_n === 'number' ? top_n : documents.length, documents.length)
  const results = documents
    .map((document, index) => ({
      ...{ index, relevance_score: scoreOf(query, document) },
      ...(return_documents === true && {
        document: typeof document === 'string' ? { text: document } : document,
      }),
    }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, count)
  const recorded = answer.results.length
  const isWithin = answer.results.every((one) => isObject(one) && Number(one.index) < documents.length)
  const madeUp =
    isWithin && count === recorded && return_documents !== true
      ? []
      : [`${documents.length} documents (recorded: ${recorded})`]
  return { body: madeUp.length === 0 ? answer : { ...answer, results }, madeUp }
}

/** Returns a number between 0 and 1. */
const scoreOf = (query: unknown, document: unknown): number =>
  createHash('sha256')
    .update(JSON.stringify([query, document]))
    .digest()
    .readUInt32LE(0) /
  2 ** 32
