// Asks a provider for an answer that it keeps. Causes no inference.
import { GatewayError } from '../core/errors.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import { type Credential, CredentialError } from '../credentials/credentials.ts'
import type { ProviderRequest } from '../dialects/dialect.ts'
import type { Provider } from '../providers/send.ts'
import { request as askOne } from '../providers/undici.ts'

/** Returns the credential for a read of a provider's; throws the gateway's error if there is none. */
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

/** Maximum bytes of a kept answer. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20

/** Rejects if the provider gives no JSON. */
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
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of body) {
      size += chunk.length
      if (size > MAX_ANSWER_BYTES) throw new Error('too large')
      chunks.push(chunk)
    }
    const text = Buffer.concat(chunks).toString('utf8')
    JSON.parse(text)
    // A refused key of the gateway's is not the client's business.
    if (statusCode === 401 || statusCode === 403) throw new Error(`status ${statusCode}`)
    return { status: statusCode, text }
  } catch {
    const message = 'The provider that keeps this response gave no usable answer. Try again.'
    throw new GatewayError('upstream_unreachable', message)
  }
}
