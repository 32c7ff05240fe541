// Masks secrets, which must never be written or repeated. Imports no other file.

/** Replaces every known secret by `***`. */
export type Mask = (text: string) => string

/**
 * Returns a mask for these secrets, even if they are URL-encoded or JSON-escaped, in full or in part, to any depth.
 * JSON stays JSON, and all other text stays unchanged. Secrets shorter than 8 characters are ignored, because masking
 * them would garble ordinary words. Longer secrets are masked first; otherwise a secret inside another would expose
 * the rest of the longer one.
 */
export function createMask(secrets: Iterable<string>): Mask {
  const known = [...secrets]
    .filter(({ length }) => length >= 8)
    .sort((a, b) => b.length - a.length)
    // Most texts have no escapes, so the pattern of a secret is made only when it is needed.
    .map((secret) => ({ secret, spellings: null as RegExp | null }))
  return (text) => {
    const isPlain = !/[\\%]/.test(text)
    let masked = text
    for (const each of known)
      if (isPlain) masked = masked.replaceAll(each.secret, '***')
      else {
        each.spellings ??= spellingsOf(each.secret)
        masked = masked.replace(each.spellings, '***')
      }
    return masked
  }
}

/** Maximum number of secrets that a mask learns. Tokens are renewed every hour, and the oldest have expired. */
const MAX_LEARNED = 200

/** Returns a mask that can learn more secrets, such as renewed keys. */
export function createGrowingMask(secrets: Iterable<string>): Mask & { learn(secret: string): void } {
  const given = new Set(secrets)
  const learned = new Set<string>()
  let mask = createMask(given)
  return Object.assign((text: string) => mask(text), {
    learn(secret: string) {
      if (given.has(secret) || learned.has(secret)) return
      learned.add(secret)
      for (const oldest of learned) if (learned.size > MAX_LEARNED) learned.delete(oldest)
      mask = createMask([...given, ...learned])
    },
  })
}

/**
 * Returns a function that finds a key in bytes of JSON or of events with JSON. Fast, since nearly all bytes
 * contain no key and no escape that could hide a key.
 */
export function createKeySearch(key: string): (bytes: Buffer) => boolean {
  const plain = [...new Set([key, encodeURIComponent(key)])].map((form) => Buffer.from(form))
  // JSON has short escapes for three characters of keys: "/", quotes and backslashes.
  const shortest = ['\\u00', ...(key.includes('/') ? ['\\/'] : []), ...(/["\\]/.test(key) ? ['\\'] : [])]
  const escaped = shortest.map((text) => Buffer.from(text))
  const spellings = spellingsOf(key)
  return (bytes) => {
    if (plain.some((form) => bytes.includes(form))) return true
    if (!bytes.includes(BACKSLASH) || !escaped.some((form) => bytes.includes(form))) return false
    return bytes.toString('latin1').search(spellings) !== -1
  }
}

const [BACKSLASH = 0] = Buffer.from('\\')

/**
 * A backslash, plain or as written in nested JSON. The bound keeps the search linear in a long row of
 * backslashes.
 */
const ESCAPES = String.raw`\\(?:\\|u005[cC]){0,14}`

/** Returns a pattern for every spelling of a text in JSON, in nested JSON and in a URL. */
function spellingsOf(text: string): RegExp {
  const characters = Array.from(text.toWellFormed(), (character, at) => {
    const escapes = at === 0 ? `(?<!\\\\)${ESCAPES}` : ESCAPES
    const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
    const plain = units.map((unit) => `\\u${unit}`).join('')
    const escaped = units.map((unit) => `${escapes}u${inAnyCase(unit)}`).join('')
    const inUrl = Array.from(
      Buffer.from(character),
      (byte) => `%${inAnyCase(byte.toString(16).padStart(2, '0'))}`,
    )
    return `(?:(?:${escapes})?${plain}|${escaped}|${inUrl.join('')})`
  })
  return new RegExp(characters.join(''), 'g')
}

const inAnyCase = (hex: string): string =>
  hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)

/** Maximum characters of a sentence, and of a request in which its parts are searched. */
const MAX_SENTENCE_LENGTH = 1_024
const MAX_SEARCHED_LENGTH = 2 * 2 ** 20
/** A run of this many characters that the request has too is a quotation; searched at every fourth position. */
const QUOTED_LENGTH = 12
const STEP = 4

/**
 * Returns a provider's sentence without what it repeats of the request: runs of its text, and quoted words that are
 * values in it, except the model. Null for a request that is too long to be searched.
 */
export function withoutRequest(sentence: string, request: string): string | null {
  if (request.length > MAX_SEARCHED_LENGTH) return null
  const text = sentence.slice(0, MAX_SENTENCE_LENGTH)
  const isRepeated = new Uint8Array(text.length)
  for (let at = 0; at + QUOTED_LENGTH <= text.length; at += STEP)
    if (spellings(text.slice(at, at + QUOTED_LENGTH)).some((part) => request.includes(part)))
      isRepeated.fill(1, Math.max(0, at - STEP), at + QUOTED_LENGTH + STEP)
  for (const { index, 0: quoted, 2: word = '' } of text.matchAll(/(["'`])([^"'`]+)\1/g))
    if (!/^[\w.$[\]/:-]{1,64}$/.test(word) || isValue(word, request))
      isRepeated.fill(1, index + 1, index + quoted.length - 1)
  return Array.from(text, (_, at) => at)
    .filter((at) => isRepeated[at] === 0 || isRepeated[at - 1] !== 1)
    .map((at) => (isRepeated[at] === 1 ? '…' : text[at]))
    .join('')
}

/** Returns a text as it may stand in JSON. */
function spellings(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1)
  const ascii = plain.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return ascii === plain ? [plain] : [plain, ascii]
}

/** Returns true if a word stands in a request other than as a member's name or as the model. */
function isValue(word: string, request: string): boolean {
  for (let at = request.indexOf(word); at !== -1; at = request.indexOf(word, at + word.length)) {
    const isName = /^"\s*:/.test(request.slice(at + word.length, at + word.length + 8))
    if (!isName && !/"model"\s*:\s*"[^"]*$/.test(request.slice(Math.max(0, at - 128), at))) return true
  }
  return false
}
