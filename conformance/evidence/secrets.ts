// Finds secrets in evidence. Each secret was replaced by its name when the evidence was written, so a name
// shows a secret. Pure.
import type { Exchange } from './evidence.ts'

const MARK = /\[secret:([\w.-]+)\]/g

const markOf = (name: string): string => `[secret:${name}]`

/** Replaces secrets with their names; `secrets` is name -> value. */
export function withoutSecrets(text: string, secrets: ReadonlyMap<string, string>): string {
  let redacted = text
  for (const [name, secret] of secrets)
    for (const form of formsOf(secret)) redacted = redacted.replaceAll(form, markOf(name))
  return redacted
}

/** Returns a secret in plain form, in URL encoding, and in base64. */
const formsOf = (secret: string): string[] => [
  ...new Set([secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').replace(/=+$/, '')]),
]

/** Returns the names of the secrets in a response's headers and body. */
export function secretsIn({ headers, body }: Pick<Exchange, 'headers' | 'body'>): string[] {
  return [...new Set([...`${JSON.stringify(headers)}\n${body}`.matchAll(MARK)].map(([, name]) => name!))]
}

/**
 * Returns the names of the provider keys in these requests. A gateway that receives such keys may repeat
 * them.
 */
export const providerKeysIn = (requests: readonly Pick<Exchange['request'], 'headers'>[]): string[] =>
  requests.flatMap(({ headers }) =>
    [...JSON.stringify(headers).matchAll(MARK)]
      .map(([, name]) => name!)
      .filter((name) => /^mock\..+\.key$/.test(name)),
  )

/**
 * Returns the secrets in an answer that its client did not know. `strictly` includes secrets from the
 * request's own query, except in a redirect that repeats this query.
 */
export function secretsGivenAway(
  exchange: Exchange,
  held: readonly string[],
  { strictly = false }: { strictly?: boolean } = {},
): string[] {
  const { location = '', ...headers } = exchange.headers
  const query = exchange.request.path.split('?')[1]
  const inQuery = [...(query ?? '').matchAll(MARK)].map(([, name]) => name!)
  // A redirect that repeats its request's query reveals nothing new.
  const kept = query !== undefined && location.endsWith(`?${query}`)
  const own = strictly ? held : [...held, ...inQuery]
  return secretsIn(kept ? { ...exchange, headers } : exchange).filter((name) => !own.includes(name))
}
