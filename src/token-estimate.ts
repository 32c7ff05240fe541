// How many tokens a call used where the provider does not say: a rough estimate from the text. No tokenizer and no network; a
// number from here is always marked as an estimate.
import { estimateTokenCount } from 'tokenx'
import type { Tokens } from './call.ts'

/** A long text is estimated from samples, because the event loop waits: about 0.15 µs a character. */
const SAMPLES = 16
const SAMPLE_LENGTH = 2_000

/** Tokens of a text. */
export function estimateTokens(text: string): number {
  const sampled = SAMPLES * SAMPLE_LENGTH
  if (text.length <= sampled) return estimateTokenCount(text)
  const step = (text.length - SAMPLE_LENGTH) / (SAMPLES - 1)
  let found = 0
  for (let n = 0; n < SAMPLES; n++) {
    const start = Math.floor(n * step)
    found += estimateTokenCount(text.slice(start, start + SAMPLE_LENGTH))
  }
  return Math.ceil((found * text.length) / sampled)
}

/** What is kept of a transcript, characters; what is longer is taken to go on like its beginning. */
const BEGINNING = 2 ** 16

/** Collects the beginning of what a model writes, so that its length can be estimated should the provider not count it. */
export class Transcript {
  #text = ''
  #length = 0

  add(text: string): void {
    this.#length += text.length
    const room = BEGINNING - this.#text.length
    if (text.length <= room) this.#text += text
    else if (room > 0) this.#text += copyOf(text.slice(0, room))
  }

  get tokens(): number {
    return this.#length === 0 ? 0 : Math.ceil((estimateTokens(this.#text) * this.#length) / this.#text.length)
  }
}

/** A piece of a text keeps all of it in memory, a copy does not. */
const copyOf = (piece: string): string => Buffer.from(piece, 'utf16le').toString('utf16le')

/** Members whose text is not read as text by a model: pictures, sound and files, mostly as base64. */
const BINARY = new Set([
  'image_url',
  'input_audio',
  'file',
  'source',
  'inlineData',
  'inline_data',
  'fileData',
  'file_data',
])

/** The texts that a model reads, names of members too: they stand for what a provider writes around messages and tools. */
export function textOf(request: unknown): string {
  const texts: string[] = []
  const waiting = [request] // and no recursion: how deep a request is, is its sender's to choose
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) for (const each of value) waiting.push(each)
    else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) if (!BINARY.has(name)) waiting.push(name, each)
  }
  return texts.join('\n')
}

/** How many pictures, sounds and files a request holds. */
export function binaryParts(request: unknown): number {
  let found = 0
  const waiting = [request]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (Array.isArray(value)) for (const each of value) waiting.push(each)
    else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value))
        if (BINARY.has(name)) found++
        else if (typeof each === 'object') waiting.push(each)
  }
  return found
}

/**
 * What a call that ended half-way is taken to have used: what was reported of it, which some dialects do for the input
 * when a stream begins, and an estimate of what was not.
 */
export function completed(reported: Tokens | null, input: () => number, output: number): Tokens {
  if (reported?.input != null && reported.output !== null) return reported
  return {
    ...(reported ?? { cached_input: null, cache_write: null, reasoning: null }),
    source: 'estimated',
    input: reported?.input ?? input(),
    output: reported?.output ?? output,
  }
}
