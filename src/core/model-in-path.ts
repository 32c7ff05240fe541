// Checks that a model's name cannot change the meaning of a path that contains it, as Gemini's paths do. The
// check covers different ways in which servers and proxies read paths. It applies to all dialects, so that a
// name means the same everywhere. Independent of providers.
import { GatewayError } from './errors.ts'

/**
 * Forbidden characters: those that begin a query or count as a slash, control characters, and lone
 * surrogates, which cannot be encoded. `#` is allowed, because Fireworks uses it in deployment names and the
 * encoded form is harmless.
 */
const NEVER = /[\\?\p{Cc}\p{Cs}]/u
/** A percent-encoded character. A server may decode it twice. */
const ENCODED = /%(u[\da-f])?[\da-f]{2}/i
/**
 * A path segment that is empty or leads elsewhere, even once `;` with its text, spaces and dots are removed.
 */
const LEADS_ELSEWHERE = /(^|\/)[\s.]*(;[^/]*)?(\/|$)/
/** The name of a Google method at the end. A server that splits at the first colon would call this method. */
const METHOD = /:(\w+(contents?|tokens)|\w*predict\w*)$/i

/** Characters of zero width, which some servers drop. */
const INVISIBLE = /\p{Cf}/gu

/** Returns the reason why a model's name (without its provider) is unsafe in a path; null if it is safe. */
export function misplacement(name: string): string | null {
  // Some servers read full-width dots and slashes as plain ones.
  const model = name.normalize('NFKC').replace(INVISIBLE, '')
  if (NEVER.test(model)) return 'contains a backslash, "?" or a control character'
  if (ENCODED.test(model)) return 'contains a percent-encoded character'
  if (LEADS_ELSEWHERE.test(model)) return 'has an empty segment, "." or ".." between its slashes'
  if (METHOD.test(model)) return 'ends in the name of a method, behind a colon'
  return null
}

/** Throws if a model's name is unsafe in a path. `id`: the name as the client sent it. */
export function refuseMisplaced(model: string, id: string): void {
  const why = misplacement(model)
  if (why === null) return
  const message = `${JSON.stringify(id)} is not the name of a model: it ${why}.`
  throw new GatewayError('invalid_request', message, { param: 'model' })
}
