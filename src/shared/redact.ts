// Masks secrets, which must never be written or repeated. Imports no other file.

/** Replaces every known secret by `***`. */
export type Mask = (text: string) => string

/**
 * Returns a mask for these secrets, also URL-encoded or JSON-escaped, completely or in part, to any depth:
 * JSON stays JSON, and all other text stays as it is. Secrets shorter than 8 characters are ignored, because
 * masking them would garble ordinary words. The longest goes first: if one is part of another, masking it
 * first would expose the rest of the other.
 */
export function createMask(secrets: Iterable<string>): Mask {
  const known = [...secrets]
    .filter(({ length }) => length >= 8)
    .sort((a, b) => b.length - a.length)
    .map((secret) => ({ secret, spellings: spellingsOf(secret) }))
  return (text) => {
    const isPlain = !/[\\%]/.test(text)
    let masked = text
    for (const { secret, spellings } of known)
      masked = isPlain ? masked.replaceAll(secret, '***') : masked.replace(spellings, '***')
    return masked
  }
}

/** Maximum secrets that a mask learns: renewed tokens come every hour, and the oldest are no secrets any more. */
const MAX_LEARNED = 200

/** Returns a mask that can learn further secrets, such as keys that are renewed. */
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
 * Returns a function that finds a key in bytes of JSON, or of events with JSON. Nearly all contain neither
 * the key nor an escape that could hide it.
 */
export function createKeySearch(key: string): (bytes: Buffer) => boolean {
  const plain = [...new Set([key, encodeURIComponent(key)])].map((form) => Buffer.from(form))
  // Of the characters in keys, JSON has short escapes for "/", quotes and backslashes.
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

/** A backslash, plain or as written in nested JSON. The bound keeps the search linear in a long row. */
const ESCAPES = String.raw`\\(?:\\|u005[cC]){0,14}`

/** Returns an expression for every spelling of a text in JSON, in JSON inside JSON, and in a URL. */
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
