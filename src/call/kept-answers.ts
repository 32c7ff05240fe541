// Answers that a provider keeps: read, listed, cancelled or deleted there, for the key whose call made them.
// The record knows the provider. What the gateway itself keeps is answered here. Causes no inference and no record. Knows no dialect by name.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import { type Credential, CredentialError } from '../credentials/credentials.ts'
import type { AskedAbout, ClientDialect, KeptAnswers, ProviderRequest } from '../dialects/dialect.ts'
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
  const about = { method: request.method!, rest, query: new URLSearchParams(query) }
  const own = await answerAbout(dialect, id, about, caller.name, context)
  const reply = (status: number, json: string, from: OutgoingHttpHeaders) =>
    replyJson(response, status, json, { [dialect.requestIdHeader]: requestId, ...from })
  const maker = await context.store.calls.makerOf('response_id', id, caller.name)
  const provider = maker && context.providers.get(maker.provider)
  const upstream = provider?.dialects.get(dialect.name)
  // A deleted response is deleted at its provider, too.
  if (own !== null && (about.method !== 'DELETE' || !upstream?.keptAnswer)) return reply(200, own, {})
  if (!maker || !provider || !upstream?.keptAnswer)
    throw new GatewayError(
      'not_found',
      maker
        ? `Response with id '${id}' not found: ${maker.provider}, which made it, is not configured any more.`
        : `Response with id '${id}' not found: no call of this key has it on record.`,
    )
  const { credential: ofCaller = null } = caller
  const credential = await credentialFor(provider, ofCaller)
  const asked = upstream.keptAnswer(rest, query, { basePath: provider.basePath, key: credential.key })
  const said = await ask(
    (await credential.complete?.(asked)) ?? asked,
    request.method!,
    provider,
    response,
    context,
  )
  if (response.destroyed) return
  const from = { 'x-gateway-provider': encodeHeader(maker.provider) }
  if (own !== null && said.status === 404) reply(200, own, from)
  else reply(said.status, maskingOwn(context, ofCaller).mask(said.text), from)
}

/** Returns the answer about a response that the gateway keeps, as JSON; null if it keeps none under that id. */
async function answerAbout(
  { storing }: ClientDialect,
  id: string,
  about: AskedAbout,
  keyName: string | null,
  { responses }: CallContext,
): Promise<string | null> {
  if (!responses || !storing) return null
  // One that cannot be read can still be deleted.
  if (about.method === 'DELETE')
    return (await responses.remove(id, keyName))
      ? storing.answerAbout(about, { id, answer: '', input: [] })
      : null
  const kept = await responses.find(id, keyName)
  return kept && storing.answerAbout(about, { id, ...kept })
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
