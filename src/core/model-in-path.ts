// Checks that a model's name stays in its place as a part of a path, as at Gemini, however the server or a
// proxy in front of it reads the path. The same rule holds for all dialects, so that a name means the same
// everywhere. Knows nothing of providers.
import { GatewayError } from './errors.ts'

/**
 * Characters that begin a query or count as a slash, controls, and lone surrogates, which cannot be encoded.
 * `#` is allowed: Fireworks uses it in names of deployments, and encoded it stays in place.
 */
const NEVER = /[\\?\p{Cc}\p{Cs}]/u
/** A percent-encoded character: a server may decode it once too often. */
const ENCODED = /%(u[\da-f])?[\da-f]{2}/i
/** A segment that is empty or leads elsewhere, also without text after `;`, or final spaces and dots. */
const LEADS_ELSEWHERE = /(^|\/)[\s.]*(;[^/]*)?(\/|$)/
/** One of Google's methods: a server that splits at the first colon would call it instead. */
const METHOD = /:(\w+(contents?|tokens)|\w*predict\w*)$/i

/** Characters without a width, which some servers drop. */
const INVISIBLE = /\p{Cf}/gu

/** Returns why a model's name (without its provider) could leave its place in a path; null if it cannot. */
export function misplacement(name: string): string | null {
  // Some servers read full-width dots and slashes as plain ones.
  const model = name.normalize('NFKC').replace(INVISIBLE, '')
  if (NEVER.test(model)) return 'contains a backslash, "?" or a control character'
  if (ENCODED.test(model)) return 'contains a percent-encoded character'
  if (LEADS_ELSEWHERE.test(model)) return 'has an empty segment, "." or ".." between its slashes'
  if (METHOD.test(model)) return 'ends in the name of a method, behind a colon'
  return null
}

/** Throws if a model's name could leave its place in a path. `id`: the name as the client sent it. */
export function refuseMisplaced(model: string, id: string): void {
  const why = misplacement(model)
  if (why === null) return
  const message = `${JSON.stringify(id)} is not the name of a model: it ${why}.`
  throw new GatewayError('invalid_request', message, { param: 'model' })
}
