// Looks for what must not be in a recording: things of the shape of a credential, and values that are known to be
// secret in any form in which they could have got there. Pure.
import type { Secrets } from './redaction.ts'

/** Shapes of keys, account ids and tokens of the providers and clouds whose traffic could end up here. */
const credential =
  /\b(?:sk|rk|pk|gsk|xai|hf|ghp|glpat)[-_][\w-]{16,}|\bBearer\s+(?!REDACTED)[\w.~+/-]{12,}|\b(?:org|proj|user)[-_][A-Za-z0-9]{16,}|\bAIza[\w-]{30,}|\bAKIA[A-Z0-9]{16}\b|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}/

/** The offset of what looks like a credential; null where nothing does. */
export const findCredential = (text: string): number | null => credential.exec(text)?.index ?? null

/** Which secret value a text contains, and in which form: `header cookie, in base64`; null where none does. */
export function findValue(text: string, values: Secrets['values']): string | null {
  for (const [value, what] of values)
    for (const [form, written] of formsOf(value)) if (text.includes(written)) return `${what}, ${form}`
  return null
}

/** Whether a word of a prompt or an answer occurs in a text as a separate word. */
export function findWord(text: string, words: Secrets['words']): boolean {
  return words.size > 0 && longWords(text).some((word) => words.has(word.toLowerCase()))
}

/** The words of at least 8 letters. Not `{8,}`: that fills the stack on an image in base64. */
export const longWords = (text: string): readonly string[] => text.match(/[a-z]{8}[a-z]*/gi) ?? []

export function* formsOf(value: string): Generator<[form: string, written: string]> {
  const bytes = Buffer.from(value)
  yield ['as it is', value]
  yield ['URL-encoded', encodeURIComponent(value)]
  yield ['JSON-escaped', JSON.stringify(value).slice(1, -1)]
  yield ['in hexadecimal', bytes.toString('hex')]
  // Inside a longer base64 text it looks different at each of three offsets, and its edges mix with what is beside it.
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
