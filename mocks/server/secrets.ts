// Secrets of the mock: the providers' keys and the secrets that a test planted. Masks both in all output.
// Independent of requests and the ledger.
import { createMask, type Mask } from '../../src/shared/redact.ts'
import { formsOf } from '../redaction/leaks.ts'

export interface Secrets {
  /**
   * Plants a secret, which must not appear. Throws if it is too short to be distinguished from an ordinary
   * word.
   */
  watchFor(name: string, secret: string): void
  /**
   * Returns the names of the planted secrets that occur in one of the texts, in any encoding listed by
   * `formsOf`.
   */
  found(texts: readonly string[]): string[]
  readonly mask: Mask
}

/** Headers that carry credentials: their values are never stored. */
export const CREDENTIAL_HEADERS: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-amz-security-token',
  'cookie',
]

/** Query parameter with the key of Google's clients. */
export const CREDENTIAL_PARAMETER = /((?:^|&)key=)[^&]*/g

/** Returns a provider's second valid key, for gateways with several keys for one provider. */
export const secondKeyOf = (key: string): string => `${key}-second`

/** Creates the store of secrets. `keys` are the providers' own, masked from the start. */
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
