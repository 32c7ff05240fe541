// How many tokens a call used that nobody counted: read off the text, roughly. No tokenizer and no network; a
// number from here is always marked as an estimate.
import { estimateTokenCount } from 'tokenx'
import type { Tokens } from './call.ts'

/** Text that is looked at; what is longer is taken to go on like its beginning. These 64 Ki characters take some 4 ms. */
const SAMPLE = 2 ** 16

/** Tokens of a text. `length` is how long the whole text is, where `text` is only its beginning. */
export function estimateTokens(text: string, length = text.length): number {
  if (length === 0 || text.length === 0) return 0
  const sample = text.slice(0, SAMPLE)
  return Math.ceil((estimateTokenCount(sample) * length) / sample.length)
}

/** Collects the beginning of what a model writes, so that its length can be estimated should nobody count it. */
export class Transcript {
  #text = ''
  #length = 0

  add(text: string): void {
    this.#length += text.length
    if (this.#text.length < SAMPLE) this.#text += text
  }

  get tokens(): number {
    return estimateTokens(this.#text, this.#length)
  }
}

/** The texts of a request that a model reads: every string of its messages and tools, pictures and files excepted. */
export function textOf(request: unknown): string {
  const texts: string[] = []
  const waiting = [request] // and no recursion: how deep a request is, is its sender's to choose
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') {
      if (!value.startsWith('data:')) texts.push(value)
    } else if (typeof value === 'object' && value !== null)
      for (const each of Object.values(value)) waiting.push(each)
  }
  return texts.join('\n')
}

/** What a call that was left half-way is taken to have used. */
export const estimated = (input: number, output: number): Tokens => ({
  source: 'estimated',
  input,
  output,
  cached_input: null,
  cache_write: null,
  reasoning: null,
})
