// Searches for content that a recording must not contain: text that looks like a credential, and known
// secrets in all likely encodings. Pure.

import { CREDENTIAL_FORMS } from './credentials.ts'
import { blank } from './placeholders.ts'

const CREDENTIAL = new RegExp(CREDENTIAL_FORMS.map(({ pattern }) => `(?:${pattern})`).join('|'), 'g')

/** Returns true for a match that is no credential any more: blanked, or a placeholder. */
const isReplaced = (found: string): boolean => blank(found) === found || found.includes('REDACTED')

/** Replaces every likely credential in a text. */
export const replaceCredentials = (text: string, change: (found: string) => string): string =>
  text.replace(CREDENTIAL, (found) => (isReplaced(found) ? found : change(found)))

/** Returns the offset of a likely credential and its form: `token of GitHub`; or null. */
export function findCredential(text: string): { readonly at: number; readonly form: string } | null {
  for (const { 0: found, index } of text.matchAll(CREDENTIAL)) {
    if (isReplaced(found)) continue
    const form = CREDENTIAL_FORMS.find(({ pattern }) => {
      const here = new RegExp(pattern, 'y')
      here.lastIndex = index
      return here.test(text)
    })
    return { at: index, form: form!.name }
  }
  return null
}

/** Minimum bits per character of a text without order. Words and names in code have less. */
const MIN_BITS = 3.7
/** Long tokens of one piece. Longer ones are images, vectors or sealed texts. */
const TOKEN = /(?<![\w+/=.-])[A-Za-z0-9_-]{20,128}(?![\w+/=-])/g
/** Names before a value that make a token without capitals a likely credential. */
const SECRET_BEFORE = /(?:key|token|secret|passw(?:or)?d|credential|auth)\w{0,12}["'\\\s:=]{1,6}$/i

/** Returns the offsets of tokens of no known form that may be credentials; the user has to say. */
export function suspectsIn(text: string): { readonly at: number; readonly start: string }[] {
  return [...text.matchAll(TOKEN)].flatMap(({ 0: token, index }) => {
    const isMixed = /[a-z]/.test(token) && /[A-Z]/.test(token) && /\d/.test(token)
    const isNamed = /\d/.test(token) && SECRET_BEFORE.test(text.slice(Math.max(0, index - 30), index))
    const isSuspect = (isMixed || isNamed) && !token.includes('REDACTED') && bitsOf(token) >= MIN_BITS
    return isSuspect ? [{ at: index, start: `${token.slice(0, 4)}…` }] : []
  })
}

/** Returns Shannon's entropy of a text, bits per character. */
function bitsOf(text: string): number {
  const counts = [...Map.groupBy(text, (character) => character).values()].map(({ length }) => length)
  return -counts.reduce((sum, count) => sum + (count / text.length) * Math.log2(count / text.length), 0)
}

/** Returns the secret that a text contains, with its encoding: `header cookie, in base64`; or null. */
export function findValue(text: string, values: SecretContent['values']): string | null {
  for (const [value, what] of values)
    for (const [form, written] of formsOf(value)) if (text.includes(written)) return `${what}, ${form}`
  return null
}

/** Placeholders that redaction writes, with the prefix of the id that they replace. */
const OWN_WORDS = /(?:[a-z]+[-_])?REDACTED_\d+/g

/** Returns the word of a prompt or an answer that a text contains as a separate word, or null. */
export const findWord = (text: string, words: SecretContent['words']): string | null =>
  (words.size > 0 && longWords(text.replace(OWN_WORDS, '')).find((word) => words.has(word.toLowerCase()))) ||
  null

/** Returns the words of at least 8 letters. Not `{8,}`: that overflows the stack on an image in base64. */
export const longWords = (text: string): readonly string[] => text.match(/[a-z]{8}[a-z]*/gi) ?? []

export function* formsOf(value: string): Generator<[form: string, written: string]> {
  const bytes = Buffer.from(value)
  yield ['as it is', value]
  yield ['URL-encoded', encodeURIComponent(value)]
  yield ['JSON-escaped', JSON.stringify(value).slice(1, -1)]
  yield ['in hexadecimal', bytes.toString('hex')]
  // Within a longer base64 text, a secret has three forms, one for each offset, and its first and last
  // characters depend on the text around it.
  for (const offset of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const inner = whole.slice(offset === 0 ? 0 : offset + 1, -1)
    if (inner.length < 8) continue
    yield ['in base64', inner]
    yield ['in base64', inner.replaceAll('+', '-').replaceAll('/', '_')]
  }
}

/**
 * Content that must not be written: credentials and ids in any encoding, words of prompts and answers in
 * plain form.
 */
export interface SecretContent {
  /** Value -> its origin: `header set-cookie`, `an id`. */
  readonly values: ReadonlyMap<string, string>
  readonly words: ReadonlySet<string>
}
