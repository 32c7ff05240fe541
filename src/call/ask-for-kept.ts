// Sends requests to a provider that are not calls, such as for an answer that the provider stores. Causes no
// inference.
import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../core/errors.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import { type CredentialAnswer, CredentialError } from '../credentials/credentials.ts'
import type { ProviderRequest } from '../dialects/dialect.ts'
import { errorCode, member } from '../dialects/json.ts'
import type { Provider } from '../providers/send.ts'
import { request as askOne } from '../providers/undici.ts'
import { waitingTime } from '../providers/waiting-time.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { ANSWER_WEIGHT } from '../shared/memory.ts'

export interface Asking {
  readonly method: string
  readonly caller: CallerCredential | null
  readonly signal: AbortSignal
  /** Maximum bytes of the answer. */
  readonly limit: number
  /** Takes memory for bytes of the answer. Throws if there is none. */
  readonly take?: (bytes: number) => void
}

/**
 * Sends a request and returns the answer. Sends the request once more with each other credential that is usable
 * immediately if the provider refuses the first one. Rejects with a `CredentialError` if there is none.
 */
export async function ask(
  { credentials, dispatcher, origin }: Provider,
  { method, caller, signal, limit, take = () => {} }: Asking,
  request: (key: string | null) => ProviderRequest,
): Promise<{ status: number; text: string }> {
  const tried = new Set<string>()
  for (;;) {
    const credential = await credentials.take({ caller, session: null, tried })
    if (credential.name !== undefined) tried.add(credential.name)
    let answer: CredentialAnswer | null = null
    let text: string
    try {
      const made = request(credential.key)
      const { path, headers, body } = (await credential.complete?.(made, method)) ?? made
      const got = await askOne(dispatcher, {
        ...{ origin, path, headers, method: method as 'GET' },
        ...(body !== '' && { body }),
        signal,
      })
      text = await textOf(got.body, limit, take)
      answer = answerOf(got.statusCode, got.headers, text)
    } catch (error) {
      credential.settled?.(null)
      throw error
    }
    if (credential.settled?.(answer) !== 'another') return { status: answer.status, text }
  }
}

async function textOf(
  body: AsyncIterable<Buffer>,
  limit: number,
  take: (bytes: number) => void,
): Promise<string> {
  const chunks = new BytePieces()
  for await (const chunk of body) {
    take(ANSWER_WEIGHT * chunk.length)
    chunks.add(chunk)
    if (chunks.length > limit) throw new Error('too large')
  }
  return chunks.joined().toString('utf8')
}

/** Returns what a credential must know of an answer. Reads the error of an answer that is one. */
export function answerOf(status: number, headers: IncomingHttpHeaders, text: string): CredentialAnswer {
  const json = status < 400 ? null : parsed(text)
  const error = member(json, 'error') ?? json
  const message = member(error, 'message')
  return {
    ...{
      status,
      headers,
      retryAfterMs: waitingTime({ status, headers, body: status < 400 ? null : Buffer.from(text) }),
    },
    code: errorCode(member(error, 'code')) ?? errorCode(member(error, 'type')),
    message: typeof message === 'string' ? message : null,
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Maximum bytes of a stored answer. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20

/** Returns the provider's response. Rejects with the gateway's error, also if the response is not JSON or `signal` aborts. */
export async function askForKept(
  provider: Provider,
  asking: Omit<Asking, 'limit'> & Required<Pick<Asking, 'take'>>,
  request: (key: string | null) => ProviderRequest,
): Promise<{ status: number; text: string }> {
  try {
    const { status, text } = await ask(provider, { ...asking, limit: MAX_ANSWER_BYTES }, request)
    JSON.parse(text)
    // The client must not see that the gateway's key was refused.
    if (status === 401 || status === 403) throw new Error(`status ${status}`)
    return { status, text }
  } catch (error) {
    if (error instanceof GatewayError) throw error
    if (error instanceof CredentialError)
      throw new GatewayError(error.waitMs === null ? 'upstream_refused' : 'rate_limited', error.message)
    const { signal } = asking
    if (signal.aborted && (signal.reason as Error).name === 'TimeoutError')
      throw new GatewayError(
        'upstream_timeout',
        'The provider that keeps this response did not answer in time.',
      )
    const message = 'The provider that keeps this response gave no usable answer. Try again.'
    throw new GatewayError('upstream_unreachable', message)
  }
}
