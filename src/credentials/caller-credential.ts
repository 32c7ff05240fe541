// The caller's own credential, such as the login of a subscription. The credential exists for one call, in
// memory. It must not be stored or sent to any other destination.
import type { IncomingHttpHeaders } from 'node:http'
import { createMask, type Mask } from '../shared/redact.ts'

/**
 * Header for the gateway's key. It leaves `Authorization` and `x-api-key` free for the caller's own
 * credential.
 */
export const GATEWAY_KEY_HEADER = 'x-gateway-key'

/** Headers for a caller's own credential, and the form of a single credential in each. */
const FORMS = { authorization: /^[\w-]+ +[^\s,]+$/, 'x-api-key': /^[^\s,]+$/ } as const

/**
 * A caller's credential. Its secrets are private members, so that no text or JSON made from this object
 * contains them.
 */
export class CallerCredential {
  readonly #headers: readonly string[]
  #mask: Mask | null = null

  /** `headers`: alternating names and values. */
  constructor(headers: readonly string[]) {
    this.#headers = headers
  }

  /** Returns alternating names and values, only for the provider of the call. */
  forProvider(): readonly string[] {
    return this.#headers
  }

  /** Returns a string without the credential. */
  masked(text: string): string {
    this.#mask ??= createMask(
      this.#headers.filter((_, at) => at % 2 === 1).map((value) => value.replace(/^.* /, '')),
    )
    return this.#mask(text)
  }
}

/**
 * Returns the caller's own credential from the headers of a call; null if there is none. A header with a gateway key
 * is not a credential. A header with several credentials is not one credential, and `several` may refuse it.
 */
export function callerCredential(
  headers: IncomingHttpHeaders,
  holdsGatewayKey: (text: string) => boolean,
  several: (header: string) => void,
): CallerCredential | null {
  const own: string[] = []
  for (const [name, form] of Object.entries(FORMS)) {
    const value = headers[name]
    if (typeof value !== 'string' || value === '') continue
    if (!form.test(value)) several(name)
    else if (!holdsGatewayKey(value)) own.push(name, value)
  }
  return own.length > 0 ? new CallerCredential(own) : null
}
