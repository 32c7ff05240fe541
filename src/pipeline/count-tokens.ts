// How many tokens a request has, without a call. A provider of the dialect is asked; if none can say, it is estimated.
// Nothing is written, nothing spent, no target cooled, the router not moved. Knows no dialect by name.
import type { ServerResponse } from 'node:http'
import type { Target } from '../call.ts'
import type { ClientDialect, ClientRequest, TokenCounting } from '../dialects/dialect.ts'
import { type JsonBody, readJson } from '../http/body.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { encodeHeader, replyJson } from '../http/reply.ts'
import { request as askOne } from '../providers/undici.ts'
import { maskJson } from '../redact.ts'
import type { CallContext } from './context.ts'
import { unknownModel } from './unknown-model.ts'

/** The endpoints at which a dialect's clients ask. */
export const countEndpoints = (
  dialect: ClientDialect,
  counting: TokenCounting,
): CallEndpoint<CallContext>[] =>
  [counting.path, ...(counting.alsoAt ?? [])].map((path) => endpointAt(path, dialect, counting))

const endpointAt = (
  path: string,
  dialect: ClientDialect,
  counting: TokenCounting,
): CallEndpoint<CallContext> => ({
  path,
  keyParameter: dialect.keyParameter,
  summary: counting.summary,
  request: counting.schema,
  errorBody: dialect.errorBody,
  errorSchema: dialect.errorSchema,
  requestIdHeader: dialect.requestIdHeader,
  handle(admitted, response, context) {
    answerCount(dialect, counting, admitted, response, context).then(
      () => admitted.over(),
      (error) => admitted.refuse(error),
    )
  },
})

/** Rejects with what the client is to be told. */
async function answerCount(
  dialect: ClientDialect,
  { estimate }: TokenCounting,
  { request: incoming, requestId, path, query, rest, slot }: Admitted,
  response: ServerResponse,
  context: CallContext,
): Promise<void> {
  const { headers } = incoming
  const limit = context.config.server.body_limit
  const { text, json } = await new Promise<JsonBody>((body, refuse) =>
    readJson(incoming, limit, slot, { body, refuse }),
  )
  const { request } = dialect.parse({ text, json, headers, path, rest, query })
  const found = context.router.peek(request.model, dialect.name)
  if (!found) throw unknownModel(request.model)
  const said = found.target && (await askProvider(found.target, request, dialect, response, context))
  if (response.destroyed) return
  const own = { [dialect.requestIdHeader]: requestId }
  if (!said) {
    replyJson(response, 200, estimate(json), { ...own, 'x-gateway-token-count': 'estimated' })
    return
  }
  const { provider, model } = found.target!
  replyJson(response, said.status, maskJson(said.text, context.mask), {
    ...own,
    'x-gateway-token-count': 'provider',
    'x-gateway-provider': encodeHeader(provider),
    'x-gateway-model': encodeHeader(model),
  })
}

/** Bytes of an answer: it is a number, or an error. */
const MOST = 2 ** 20

/** What is wrong with the request itself. Whatever else a provider answers says nothing about how long it is. */
const REFUSALS = [400, 413, 422]

/** What the provider says; null where it cannot say. */
async function askProvider(
  target: Target,
  request: ClientRequest,
  { name }: ClientDialect,
  response: ServerResponse,
  { providers, config }: CallContext,
): Promise<{ status: number; text: string } | null> {
  const provider = providers.get(target.provider)!
  const upstream = provider.dialects.get(name)!
  const asked = upstream.countTokens?.request(request, target.model, provider)
  if (!upstream.countTokens || !asked) return null
  const left = new AbortController()
  const leave = () => left.abort()
  response.once('close', leave)
  try {
    const { statusCode, body } = await askOne(provider.dispatcher, {
      ...asked,
      origin: provider.origin,
      method: 'POST',
      signal: AbortSignal.any([left.signal, AbortSignal.timeout(config.resilience.stream_first_event)]),
    })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of body) {
      size += chunk.length
      if (size > MOST) return null
      chunks.push(chunk)
    }
    const text = Buffer.concat(chunks).toString('utf8')
    const isAnswer =
      statusCode === 200
        ? upstream.countTokens.isCount(text)
        : REFUSALS.includes(statusCode) && upstream.readError(text) !== null
    return isAnswer ? { status: statusCode, text } : null
  } catch {
    return null
  } finally {
    response.off('close', leave)
  }
}
