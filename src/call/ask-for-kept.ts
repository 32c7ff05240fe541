// Requests an answer that a provider stores. Causes no inference.
import { GatewayError } from '../core/errors.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import { type Credential, CredentialError } from '../credentials/credentials.ts'
import type { ProviderRequest } from '../dialects/dialect.ts'
import type { Provider } from '../providers/send.ts'
import { request as askOne } from '../providers/undici.ts'
import { BytePieces } from '../shared/byte-pieces.ts'

/** Returns the credential for reading from a provider. Throws the gateway's error if there is none. */
export async function credentialFor(
  { credentials }: Provider,
  caller: CallerCredential | null,
): Promise<Credential> {
  try {
    return await credentials.take({ caller, session: null, tried: new Set() })
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    throw new GatewayError(error.waitMs === null ? 'upstream_refused' : 'rate_limited', error.message)
  }
}

/** Maximum bytes of a stored answer. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20

/** Returns the provider's response. Rejects if it is not JSON, or when `signal` aborts. */
export async function askForKept(
  { path, headers, body: sent }: ProviderRequest,
  method: string,
  { dispatcher, origin }: Provider,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  try {
    const { statusCode, body } = await askOne(dispatcher, {
      ...{ origin, path, headers, method: method as 'GET' },
      ...(sent !== '' && { body: sent }),
      signal,
    })
    const chunks = new BytePieces()
    for await (const chunk of body) {
      chunks.add(chunk)
      if (chunks.length > MAX_ANSWER_BYTES) throw new Error('too large')
    }
    const text = chunks.joined().toString('utf8')
    JSON.parse(text)
    // The client must not see that the gateway's key was refused.
    if (statusCode === 401 || statusCode === 403) throw new Error(`status ${statusCode}`)
    return { status: statusCode, text }
  } catch {
    if (signal.aborted && (signal.reason as Error).name === 'TimeoutError')
      throw new GatewayError(
        'upstream_timeout',
        'The provider that keeps this response did not answer in time.',
      )
    const message = 'The provider that keeps this response gave no usable answer. Try again.'
    throw new GatewayError('upstream_unreachable', message)
  }
}
