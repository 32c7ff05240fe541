// Estimates a call's tokens from its text, for providers that do not report usage. Uses no tokenizer and no
// network. Numbers from this file are always marked as estimates.
import { estimateTokenCount } from 'tokenx'
import type { Tokens } from './call.ts'

/**
 * Number of samples of a long text. Reading all of it would block the event loop: about 0.15 µs per
 * character.
 */
const SAMPLES = 16
const SAMPLE_LENGTH = 2_000

/** Returns the estimated tokens of a string. */
export function estimateTokens(text: string): number {
  const sampled = SAMPLES * SAMPLE_LENGTH
  if (text.length <= sampled) return tokensOf(text)
  const step = (text.length - SAMPLE_LENGTH) / (SAMPLES - 1)
  let found = 0
  for (let n = 0; n < SAMPLES; n++) {
    const start = Math.floor(n * step)
    found += tokensOf(text.slice(start, start + SAMPLE_LENGTH))
  }
  return Math.ceil((found * text.length) / sampled)
}

const [SPACE, PUNCTUATION, DIGIT, LOWER, OTHER, FOREIGN] = [0, 1, 2, 3, 4, 5]
/** Kinds of the ASCII characters, as `tokenx` divides them. All other characters are `FOREIGN`. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/\s/.test(character)) return SPACE
  if (/[.,!?;(){}[\]<>:/\\|@#$%^&*+=`~_"-]/.test(character)) return PUNCTUATION
  return /\d/.test(character) ? DIGIT : /[a-z]/.test(character) ? LOWER : OTHER
})
const NEWLINE = 10

/**
 * Returns the tokens that `tokenx` estimates, exactly: reads ASCII itself, ten times faster than its regular expressions,
 * and leaves words with other characters to it. A word ends at a space or a punctuation mark of ASCII.
 */
function tokensOf(text: string): number {
  let tokens = 0
  let start = 0
  while (start < text.length) {
    const first = kindAt(text, start)
    let end = start + 1
    if (first === SPACE) {
      while (end < text.length && kindAt(text, end) === SPACE) end++
      tokens += tokensOfSpace(text, start, end)
    } else if (first === PUNCTUATION) {
      while (end < text.length && kindAt(text, end) === PUNCTUATION) end++
      tokens += end - start <= 3 ? 1 : Math.ceil((end - start) / 6)
    } else {
      let kinds = 1 << first
      for (; end < text.length; end++) {
        const kind = kindAt(text, end)
        if (kind <= PUNCTUATION) break
        kinds |= 1 << kind
      }
      if (kinds < 1 << FOREIGN) tokens += tokensOfWord(end - start, kinds)
      else {
        const word = text.slice(start, end)
        if (JOINS.test(word)) return estimateTokenCount(text)
        tokens += estimateTokenCount(word)
      }
    }
    start = end
  }
  return tokens
}

/** Characters by which a word outside ASCII has to do with what follows or precedes it: spaces, and marks of Asian scripts. */
const JOINS =
  /[\s\u3001-\u3003\u3008-\u3011\u3014-\u301f\u3030\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code < KINDS.length ? KINDS[code]! : FOREIGN
}

/** A line break counts as a token if the line after it is empty or indented, or if no punctuation precedes it. */
function tokensOfSpace(text: string, start: number, end: number): number {
  for (let at = start; at < end; at++)
    if (text.charCodeAt(at) === NEWLINE)
      return at + 1 < end || start === 0 || kindAt(text, start - 1) !== PUNCTUATION ? 1 : 0
  return 0
}

/** `kinds`: the kinds of its characters, as bits. */
function tokensOfWord(length: number, kinds: number): number {
  if (kinds === 1 << DIGIT) return Math.ceil(length / 3)
  if (length <= 3 || (length <= 8 && kinds === 1 << LOWER)) return 1
  return Math.ceil(length / 7)
}

/** Maximum stored length of a transcript, in characters. The rest is assumed to resemble the beginning. */
const MAX_TRANSCRIPT_LENGTH = 2 ** 16

/** Collects the beginning of a model's text, to estimate its tokens if the provider does not count them. */
export class Transcript {
  #text = ''
  #length = 0

  add(text: string): void {
    this.#length += text.length
    const room = MAX_TRANSCRIPT_LENGTH - this.#text.length
    if (text.length <= room) this.#text += text
    else if (room > 0) this.#text += copyOf(text.slice(0, room))
  }

  get tokens(): number {
    return this.#length === 0 ? 0 : Math.ceil((estimateTokens(this.#text) * this.#length) / this.#text.length)
  }
}

/** Copies a piece of a string. A slice would keep the whole text in memory. */
const copyOf = (piece: string): string => Buffer.from(piece, 'utf16le').toString('utf16le')

/** Members that contain images, audio or files, mostly in base64. */
export const BINARY: ReadonlySet<string> = new Set([
  'image_url',
  'input_audio',
  'file',
  'source',
  'inlineData',
  'inline_data',
  'fileData',
  'file_data',
])

/**
 * Returns the strings that a model may read. Includes member names, as an estimate of the text that a
 * provider adds around messages and tools. Members of `messages` listed in `unread` are read without data,
 * ids and addresses. `definitions` are read in full, because a tool may have a parameter of the same name.
 * Not recursive, because a sender may nest a request to any depth.
 */
export function readableText(
  messages: unknown,
  unread: ReadonlySet<string>,
  definitions: unknown = null,
): string {
  const texts: string[] = []
  const doubtful: unknown[] = []
  const walk = (waiting: unknown[], doubted: ReadonlySet<string>, isRead: (text: string) => boolean) => {
    while (waiting.length > 0) {
      const value = waiting.pop()
      if (typeof value === 'string') {
        if (isRead(value)) texts.push(value)
      } else if (Array.isArray(value)) for (const each of value) waiting.push(each)
      else if (typeof value === 'object' && value !== null)
        for (const [name, each] of Object.entries(value))
          if (doubted.has(name)) doubtful.push(each)
          else waiting.push(name, each)
    }
  }
  walk([messages], unread, () => true)
  walk(doubtful, unread, (text) => !isData(text))
  walk([definitions], new Set(), () => true)
  return texts.join('\n')
}

/** Maximum length of an id or an address, in characters. */
const MAX_ID = 256
const DATA = /^[\w+/=\r\n-]*$/

/** Returns true if samples of a string look like an id, an address or base64 data. */
function isData(text: string): boolean {
  if (text.length <= MAX_ID) return !/\s/.test(text)
  if (/^data:[\w/+.;=-]*;base64,/.test(text)) return true
  const step = (text.length - 64) / (SAMPLES - 1)
  return Array.from({ length: SAMPLES }, (_, n) => Math.floor(n * step)).every((start) =>
    DATA.test(text.slice(start, start + 64)),
  )
}

/** Returns the number of images, audio clips and files in a request. */
export const binaryParts = (request: unknown): number => countMembers(request, (name) => BINARY.has(name))

/** Returns the number of members that match a predicate. Does not search inside a match. */
export function countMembers(request: unknown, isCounted: (name: string, value: unknown) => boolean): number {
  let found = 0
  const waiting = [request]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (Array.isArray(value)) for (const each of value) waiting.push(each)
    else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value))
        if (isCounted(name, each)) found++
        else if (typeof each === 'object') waiting.push(each)
  }
  return found
}

/**
 * Returns the assumed usage of a call that ended early: the reported part and an estimate of the rest. Some
 * dialects report the input when a stream begins.
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
