// Counts the tokens of a request without a call. Asks a provider of the dialect, or estimates if none can
// count. Writes nothing, spends nothing, cools no target down and does not change the router's state.
// Independent of the dialect.
import type { ServerResponse } from 'node:http'
import type { Target } from '../core/call.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import type { ClientRequest } from '../dialects/blocks.ts'
import type { ClientDialect, TokenCounting } from '../dialects/dialect.ts'
import { type JsonBody, readJson } from '../http/body.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { encodeHeader, replyJson } from '../http/reply.ts'
import { abortAfter, detached, once, stray } from '../shared/boundary.ts'
import type { CallContext } from './context.ts'
import { maskingOwn, readRequest, unknownModel } from './find-route.ts'
import { ask } from './kept-answers.ts'
import { withNamedItems } from './named-items.ts'
import { stateFor } from './provider-state.ts'

/** Returns a dialect's endpoints for counting tokens. */
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
    const answered = answerCount(dialect, counting, admitted, response, context).then(() => admitted.over())
    detached(answered, (error) => admitted.refuse(error))
  },
})

/** Answers a counting request. Rejects with the error for the client. */
async function answerCount(
  dialect: ClientDialect,
  { estimate }: TokenCounting,
  admitted: Admitted,
  response: ServerResponse,
  context: CallContext,
): Promise<void> {
  const { request: incoming, requestId, slot } = admitted
  const limit = context.config.server.body_limit
  const sent = await new Promise<JsonBody>((onBody, refuse) =>
    readJson(incoming, limit, slot, { onBody, refuse }),
  )
  const { storing } = dialect
  const whole = storing && (await withNamedItems(storing, sent, admitted, context))
  const body = whole?.body ?? sent
  const { request } = readRequest(dialect, body, admitted, context)
  const found = context.router.peek(request.model, dialect.name)
  if (!found) throw unknownModel(request.model)
  // Only a provider counts what it keeps, so a conversation that the gateway stores is not read here.
  await stateFor(dialect, body, admitted, { ...context, responses: null })
  const { credential: caller = null } = admitted.caller
  const asking = { request, caller, name: dialect.name }
  const said = found.target && (await askProvider(found.target, asking, response, context))
  if (response.destroyed) return
  const own = { [dialect.requestIdHeader]: requestId }
  if (!said) {
    replyJson(response, 200, estimate(body.json), { ...own, 'x-gateway-token-count': 'estimated' })
    return
  }
  const { provider, model } = found.target!
  replyJson(response, said.status, maskingOwn(context, caller).mask(said.text), {
    ...own,
    'x-gateway-token-count': 'provider',
    'x-gateway-provider': encodeHeader(provider),
    'x-gateway-model': encodeHeader(model),
  })
}

/** Maximum bytes of an answer. An answer is a number or an error. */
const MAX_ANSWER_BYTES = 2 ** 16

/** Statuses that mean a fault in the request itself. Other errors say nothing about the request's length. */
const REFUSALS = [400, 413, 422]

/** A request to count, in the dialect `name`. */
interface Counted {
  readonly request: ClientRequest
  readonly caller: CallerCredential | null
  readonly name: string
}

/** Returns the provider's count; null if the provider cannot count. */
async function askProvider(
  target: Target,
  { request, caller, name }: Counted,
  response: ServerResponse,
  { providers, config }: CallContext,
): Promise<{ status: number; text: string } | null> {
  const provider = providers.get(target.provider)!
  const upstream = provider.dialects.get(name)!
  if (!upstream.countTokens) return null
  const left = new AbortController()
  const leave = once(response, 'close', () => left.abort(), stray)
  const limit = abortAfter(left, config.resilience.stream_first_event)
  try {
    const { basePath, platform } = provider
    const { countTokens } = upstream
    const { status, text } = await ask(
      provider,
      { method: 'POST', caller, signal: left.signal, limit: MAX_ANSWER_BYTES },
      (key) => {
        const made = countTokens.request(request, target.model, { basePath, key })
        return platform?.place(made) ?? made
      },
    )
    const isAnswer =
      status === 200
        ? countTokens.isCount(text)
        : REFUSALS.includes(status) && upstream.readError(text) !== null
    return isAnswer ? { status, text } : null
  } catch {
    return null
  } finally {
    limit.close()
    response.off('close', leave)
  }
}
