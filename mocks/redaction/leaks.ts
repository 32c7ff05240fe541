// Searches for content that a recording must not contain: text that looks like a credential, and known
// secrets in all likely encodings. Pure.

/** Patterns of keys, account ids and tokens of the recorded providers and clouds. */
const credential =
  /\b(?:sk|rk|pk|gsk|xai|hf|ghp|glpat)[-_][\w-]{16,}|\bBearer\s+(?!REDACTED)[\w.~+/-]{12,}|\b(?:org|proj|user)[-_][A-Za-z0-9]{16,}|\bAIza[\w-]{30,}|\bAKIA[A-Z0-9]{16}\b|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}/

/** Replaces every likely credential in a text. */
export const replaceCredentials = (text: string, change: (found: string) => string): string =>
  text.replace(new RegExp(credential, 'g'), change)

/** Returns the offset of a likely credential, or null. */
export const findCredential = (text: string): number | null => credential.exec(text)?.index ?? null

/** Returns the secret that a text contains, with its encoding: `header cookie, in base64`; or null. */
export function findValue(text: string, values: SecretContent['values']): string | null {
  for (const [value, what] of values)
    for (const [form, written] of formsOf(value)) if (text.includes(written)) return `${what}, ${form}`
  return null
}

/** Returns true if a text contains this word of a prompt or an answer as a separate word. */
export function findWord(text: string, words: SecretContent['words']): boolean {
  return words.size > 0 && longWords(text).some((word) => words.has(word.toLowerCase()))
}

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
