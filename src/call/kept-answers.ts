// Answers that a provider keeps: read, listed, cancelled or deleted there, for the key whose call made them.
// The record knows the provider. Causes no inference and no record. Knows no dialect by name.
import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import { type Credential, CredentialError } from '../credentials/credentials.ts'
import type { ClientDialect, KeptAnswers, ProviderRequest } from '../dialects/dialect.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { dropBody } from '../http/pieces.ts'
import { encodeHeader, replyJson } from '../http/reply.ts'
import type { Provider } from '../providers/send.ts'
import { request as askOne } from '../providers/undici.ts'
import type { CallContext } from './context.ts'
import { maskingOwn } from './own-credential.ts'

/** Returns the endpoint at which a dialect's clients ask for kept answers. */
export const keptAnswersEndpoint = (
  dialect: ClientDialect,
  kept: KeptAnswers,
): CallEndpoint<CallContext> => ({
  path: kept.path,
  methods: kept.methods,
  summary: kept.summary,
  request: z.unknown(),
  errorBody: dialect.errorBody,
  errorSchema: dialect.errorSchema,
  requestIdHeader: dialect.requestIdHeader,
  handle(admitted, response, context) {
    dropBody(admitted.request)
    answerKept(dialect, kept, admitted, response, context).then(
      () => admitted.over(),
      (error) => admitted.refuse(error),
    )
  },
})

/** Rejects with the error for the client. */
async function answerKept(
  dialect: ClientDialect,
  kept: KeptAnswers,
  admitted: Admitted,
  response: ServerResponse,
  context: CallContext,
): Promise<void> {
  const { request, rest, query, caller, requestId } = admitted
  const id = kept.idIn(request.method!, rest)
  if (id === null) throw new GatewayError('not_found', `There is nothing at this path. ${kept.offers}`)
  const streams = new URLSearchParams(query).get('stream') === 'true'
  if (streams)
    throw new GatewayError(
      'invalid_request',
      'stream: a kept answer is not streamed; ask again until it is complete.',
    )
  const maker = await context.store.calls.makerOf('response_id', id, caller.name)
  const provider = maker && context.providers.get(maker.provider)
  const upstream = provider?.dialects.get(dialect.name)
  if (!maker || !provider || !upstream?.keptAnswer)
    throw new GatewayError(
      'not_found',
      maker
        ? `Response with id '${id}' not found: ${maker.provider}, which made it, is not configured any more.`
        : `Response with id '${id}' not found: no call of this key has it on record.`,
    )
  const { credential: own = null } = caller
  const credential = await credentialFor(provider, own)
  const asked = upstream.keptAnswer(rest, query, { basePath: provider.basePath, key: credential.key })
  const said = await ask(
    (await credential.complete?.(asked)) ?? asked,
    request.method!,
    provider,
    response,
    context,
  )
  if (response.destroyed) return
  replyJson(response, said.status, maskingOwn(context, own).mask(said.text), {
    [dialect.requestIdHeader]: requestId,
    'x-gateway-provider': encodeHeader(maker.provider),
  })
}

/** Returns the credential for a read of a provider's; throws the gateway's error if there is none. */
async function credentialFor(
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
async function ask(
  { path, headers, body: sent }: ProviderRequest,
  method: string,
  { dispatcher, origin }: Provider,
  response: ServerResponse,
  { config }: CallContext,
): Promise<{ status: number; text: string }> {
  const left = new AbortController()
  const leave = () => left.abort()
  response.once('close', leave)
  try {
    const { statusCode, body } = await askOne(dispatcher, {
      ...{ origin, path, headers, method: method as 'GET' },
      ...(sent !== '' && { body: sent }),
      signal: AbortSignal.any([left.signal, AbortSignal.timeout(config.resilience.stream_first_event)]),
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
  } finally {
    response.off('close', leave)
  }
}
