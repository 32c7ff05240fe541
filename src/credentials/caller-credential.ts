// A credential of the caller's own, such as the login of a subscription. It exists for one call, in memory;
// nothing that is written or sent elsewhere may hold it.
import type { IncomingHttpHeaders } from 'node:http'
import { createMask, type Mask } from '../shared/redact.ts'

/** Header for the gateway's key, which leaves `Authorization` and `x-api-key` to the caller's own. */
export const GATEWAY_KEY_HEADER = 'x-gateway-key'

/** Headers with a credential of the caller's own, and the form of a single credential in each. */
const FORMS = { authorization: /^[\w-]+ +[^\s,]+$/, 'x-api-key': /^[^\s,]+$/ } as const

/** Its secrets are private members, so that no text and no JSON made of this object holds them. */
export class CallerCredential {
  readonly #headers: readonly string[]
  #mask: Mask | null = null

  /** `headers`: names and values in turn. */
  constructor(headers: readonly string[]) {
    this.#headers = headers
  }

  /** Returns names and values in turn, only for the provider of the call. */
  forProvider(): readonly string[] {
    return this.#headers
  }

  /** Returns a text without it. */
  masked(text: string): string {
    this.#mask ??= createMask(
      this.#headers.filter((_, at) => at % 2 === 1).map((value) => value.replace(/^.* /, '')),
    )
    return this.#mask(text)
  }
}

/**
 * Returns the caller's own credential from the headers of a call; null if there is none. A header that
 * contains a gateway key is not a credential, and neither is one with several credentials, which `several`
 * may refuse.
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
