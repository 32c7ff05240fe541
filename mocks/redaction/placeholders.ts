// Replaces ids and private names with typed placeholders: `msg_01AbC…` → `msg_REDACTED_000417`. The digits
// are derived from the id. An id therefore has one placeholder in paths, bodies and other exchanges, and
// replay finds imported recordings. The length stays. Independent of formats. Placeholders have few digits on
// purpose: see `place`.
import { createHash } from 'node:crypto'

/** Prefixes of the providers' ids, as a pattern; other prefixes could be names. */
export const ID_PREFIXES =
  'chatcmpl|cmpl|msg|resp|rs|fc|ctc|cu|lsh|cmp|ws|fs|ci|ig|mcp|mcpl|mcpr|call|toolu|srvtoolu|mcptoolu|tooluse|tool|req|gen|run|step|file|batch|msgbatch|asst|thread|vs|vsfb|ft|ftjob|ftevent|evt|job|conv|item|fp|embd|modr|container|cntr|upload|video|eval|evalrun|session|v1'
const PREFIX = new RegExp(`^(?:${ID_PREFIXES})[-_]`)

const MARK = 'REDACTED_'

/**
 * Pattern of an unambiguous placeholder: a mark and a small number, or a small number after at least three
 * zeros.
 */
const PLACEHOLDER = /^(?:(?:[a-z]+|v1)[-_])?(?:REDACTED_0*\d{1,6}|0{3,}\d{1,3})$|^name-\d{3}$/

/**
 * Returns true for a provider's prefix with a small number. This form replaces short ids, so it counts as a
 * placeholder.
 */
const isNumbered = (id: string): boolean =>
  /^\d{1,5}$/.test(id.slice(PREFIX.exec(id)?.[0].length ?? 0)) && PREFIX.test(id)

const isPlaceholder = (id: string): boolean => PLACEHOLDER.test(id) || isNumbered(id)

/**
 * Returns true for an id that a machine made, and not a person: a provider's id, a UUID, a long number, or letters
 * and digits without order.
 */
export function isMachineMade(id: string): boolean {
  const own = id.slice(PREFIX.exec(id)?.[0].length ?? 0)
  const mixed = /(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{8,}/
  return id.length >= 12 && /\d/.test(own) && (own !== id || mixed.test(own) || /\d{10}/.test(own))
}

/** Pattern of the replacement for a short id without a prefix. A real id may look the same. */
const SHORT = /^\d{1,5}$/

/**
 * Returns the placeholder of an id, or of a private name in an address or of a model. Equal originals have
 * equal placeholders, and a placeholder is returned unchanged. If the original is too short for a
 * placeholder, the result is longer.
 */
export function placeholderOf(id: string): string {
  if (isPlaceholder(id)) return id
  const placeholder = place(id, 0)
  return isPlaceholder(placeholder) ? placeholder : `name-${place(`${id}......`, 0).slice(-3)}`
}

/**
 * Creates placeholders for the ids of one exchange; different ids have different placeholders while the
 * digits suffice. `stored`: the ids come from a recording, where a short number is a placeholder.
 */
export function createPlaceholders(stored = false): (id: string) => string {
  const known = new Map<string, string>()
  const taken = new Set<string>()
  return (id) => {
    if (id === '' || isPlaceholder(id) || (stored && SHORT.test(id))) return id
    let placeholder = known.get(id) ?? place(id, 0)
    for (let step = 1; !known.has(id) && taken.has(placeholder) && step < 1000; step++)
      placeholder = place(id, step)
    known.set(id, placeholder)
    taken.add(placeholder)
    return placeholder
  }
}

/**
 * Fits as much of prefix, mark and number into the length as possible; the number has priority. A
 * machine-made id gets six digits. A shorter text may be a name and gets three digits, because a longer
 * number would confirm a guess.
 */
function place(id: string, step: number): string {
  const prefix = PREFIX.exec(id)?.[0] ?? ''
  const digits = id.length - prefix.length >= MARK.length + 6 && /\d/.test(id) ? 6 : 3
  const fits = (front: string, least: number) => front.length + least <= id.length
  const marked = `${prefix}${MARK}`
  const front = fits(marked, digits) ? marked : fits(prefix, 1) ? prefix : ''
  const room = id.length - front.length
  const size = 10 ** Math.min(digits, room)
  const number = (createHash('sha256').update(id).digest().readUIntBE(0, 6) + step) % size
  return front + String(number).padStart(room, '0')
}

/**
 * Blanks a text. White space and ASCII punctuation stay, so JSON within a text keeps its structure.
 * Characters beyond ASCII become × (2 bytes), ✕ (3) or 𝐱 (4).
 */
export const blank = (text: string): string =>
  text
    .replace(/[a-z]/g, 'x')
    .replace(/[A-Z]/g, 'X')
    .replace(/[0-9]/g, '1')
    .replace(/[\u0080-\u07ff]/g, '×')
    .replace(/[\u0800-\ud7ff\ue000-\uffff]/g, '✕')
    // Each half of a pair is also replaced separately: a stream may split the pair, and the halves must still
    // match.
    .replace(/[\ud800-\udbff]/g, '\ud835')
    .replace(/[\udc00-\udfff]/g, '\udc31')

/**
 * Parts of JSON in addition to punctuation: escapes, the three literals in the place of a value, exponents.
 */
const JSON_PARTS =
  /(\\u[\da-fA-F]{4}|\\["\\/bfnrt]|(?<=(?:^|[:,[])\s*)(?:true|false|null)(?=\s*(?:$|[,}\]]))|(?<=\d)[eE](?=[+-]?\d))/

/** Blanks JSON text or a piece of it, and keeps it valid. A boolean becomes true. */
export const blankJsonText = (text: string): string =>
  text
    .split(JSON_PARTS)
    .map((piece, i) => {
      if (i % 2 === 0) return blank(piece)
      if (piece === 'false') return 'true '
      return piece.startsWith('\\u') ? '\\u00d7' : piece
    })
    .join('')

/**
 * Blanks the content of a JSON string, including escapes, which keep their form and length. `change` must
 * keep the number of code units and their length in UTF-8, as the two functions above do.
 */
export function blankInString(inner: string, change: (text: string) => string): string {
  if (!inner.includes('\\')) return change(inner)
  const written = inner.match(/\\u[\da-fA-F]{4}|\\[^u]|[^\\]/g) ?? []
  const changed = change(written.map((unit) => (unit.length === 1 ? unit : decoded(unit))).join(''))
  return written
    .map((unit, i) => {
      const now = changed[i]!
      if (unit.length === 1 || now === decoded(unit)) return unit.length === 1 ? now : unit
      return `\\u${now.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
    .join('')
}

const decoded = (unit: string): string => JSON.parse(`"${unit}"`)

/**
 * Variants of a blanked character that keep two names distinct. The first is the character itself. Blanking a
 * variant again does not change it.
 */
const VARIANTS: readonly [first: string, count: number][] = [
  ['1', 9],
  ['×', 40],
  ['✕', 60],
  ['\udc31', 40],
]
const LETTERS = 'xyzabcdefghijklmnopqrstuvw'

/**
 * Returns the `nth` variant of a blanked name; 0 is the blanked name itself. Returns the last variant if
 * there are no more.
 */
export function variantOf(blanked: string, nth: number): string {
  const units = blanked.split('')
  let rest = nth
  for (let i = units.length - 1; i >= 0 && rest > 0; i--) {
    const unit = units[i]!
    const letter = unit === 'x' ? LETTERS : unit === 'X' ? LETTERS.toUpperCase() : null
    const [, count = 1] = VARIANTS.find(([first]) => first === unit) ?? []
    const size = letter?.length ?? count
    const step = rest % size
    units[i] = letter?.[step] ?? String.fromCharCode(unit.charCodeAt(0) + step)
    rest = Math.floor(rest / size)
  }
  return units.join('')
}
