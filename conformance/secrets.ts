// Secrets in evidence: they were replaced by their names when it was written down, so finding a name is finding the
// secret. Pure.
import type { Exchange } from './evidence.ts'

const MARK = /\[secret:([\w.-]+)\]/g

const markOf = (name: string): string => `[secret:${name}]`

/** Puts the names of secrets where the secrets stand; `secrets` is name -> value. */
export function withoutSecrets(text: string, secrets: ReadonlyMap<string, string>): string {
  let redacted = text
  for (const [name, secret] of secrets)
    for (const form of formsOf(secret)) redacted = redacted.replaceAll(form, markOf(name))
  return redacted
}

/** A secret as it is, in a URL, and in base64. */
const formsOf = (secret: string): string[] => [
  ...new Set([secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').replace(/=+$/, '')]),
]

/** Names of the secrets in what came back: head and body. */
export function secretsIn({ headers, body }: Pick<Exchange, 'headers' | 'body'>): string[] {
  return [...new Set([...`${JSON.stringify(headers)}\n${body}`.matchAll(MARK)].map(([, name]) => name!))]
}

/** Those among them that the client did not hold: a gateway that is sent its provider keys may be heard saying them. */
export function secretsGivenAway(exchange: Exchange, held: Readonly<Record<string, string>>): string[] {
  const own = [...JSON.stringify(held).matchAll(MARK)].map(([, name]) => name!)
  const { location = '', ...headers } = exchange.headers
  // A redirect that keeps the query of its request tells the asker nothing new.
  const query = exchange.request.path.split('?')[1]
  const kept = query !== undefined && location.endsWith(`?${query}`)
  return secretsIn(kept ? { ...exchange, headers } : exchange).filter((name) => !own.includes(name))
}
