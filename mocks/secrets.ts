// The secrets that the witness knows: the providers' keys, those that a test planted, and how both are kept out of
// everything that is told. Knows no request and no ledger.
import { createMask, type Mask } from '../src/redact.ts'
import { formsOf } from './leaks.ts'

export interface Secrets {
  /** Names a secret that must not show up. Throws when it is too short to be told from an ordinary word. */
  watchFor(name: string, secret: string): void
  /** The names of the planted secrets that occur in one of the texts, in any form that `formsOf` knows. */
  found(texts: readonly string[]): string[]
  readonly mask: Mask
}

/** The headers that carry credentials: their values are never kept. */
export const CREDENTIAL_HEADERS: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
]

/** `keys`: the providers' own, masked from the start. */
export function createSecrets(keys: readonly string[]): Secrets {
  const planted = new Map<string, string>()
  const maskOfAll = () =>
    createMask([...keys, ...planted.values()].flatMap((secret) => [secret, inJson(secret)]))
  let mask = maskOfAll()
  return {
    watchFor(name, secret) {
      if (secret.length < 8) throw new Error(`the secret "${name}" is shorter than 8 characters`)
      planted.set(name, secret)
      mask = maskOfAll()
    },
    found: (texts) =>
      [...planted]
        .filter(([, secret]) =>
          [...formsOf(secret)].some(([, written]) => texts.some((text) => text.includes(written))),
        )
        .map(([name]) => name),
    mask: (text) => mask(text),
  }
}

const inJson = (secret: string): string => JSON.stringify(secret).slice(1, -1)
