// Adapts recorded speech, moderations or ranked documents to the request. Pure. Makes up unrecorded parts:
// silence in another format, or a score for each document.
import { createHash } from 'node:crypto'
import type { Fit } from './fit.ts'

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
  const madeUp =
    documents.length === recorded && count === recorded && return_documents !== true
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
