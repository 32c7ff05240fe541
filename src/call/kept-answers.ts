// Reads, lists, cancels or deletes answers that a provider stores, for the key that made them. The record
// names the provider. Answers that the gateway itself stores are served here. Causes no inference and no
// record. Independent of the dialect.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { AskedAbout, ClientDialect, KeptAnswers } from '../dialects/dialect.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { dropBody } from '../http/pieces.ts'
import { encodeHeader, replyJson } from '../http/reply.ts'
import { abortAfter, detached, once, stray } from '../shared/boundary.ts'
import { askForKept } from './ask-for-kept.ts'
import type { CallContext } from './context.ts'
import { maskingOwn } from './own-credential.ts'
import { roomOf } from './provider-state.ts'

/** Returns a dialect's endpoint for stored answers. */
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
    const answered = answerKept(dialect, kept, admitted, response, context).then(() => admitted.over())
    detached(answered, (error) => admitted.refuse(error))
  },
})

/** Serves a request about a stored answer. Rejects with the error for the client. */
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
  if (about.method === 'DELETE') context.items.forget(id, caller.name)
  const own = await answerAbout(dialect, id, about, admitted, context)
  const reply = (status: number, json: string, from: OutgoingHttpHeaders) =>
    replyJson(response, status, json, { [dialect.requestIdHeader]: requestId, ...from })
  const maker = await context.store.calls.makerOf(id, caller.name)
  const provider = maker && context.providers.get(maker.provider)
  const upstream = provider?.dialects.get(dialect.name)
  // A deletion is also sent to the provider.
  if (own !== null && (about.method !== 'DELETE' || !upstream?.keptAnswer)) return reply(200, own, {})
  if (!maker || !provider || !upstream?.keptAnswer)
    throw new GatewayError(
      'not_found',
      maker
        ? `Response with id '${id}' not found: ${maker.provider}, which made it, is not configured any more.`
        : `Response with id '${id}' not found: no call of this key has it on record.`,
    )
  const { credential: ofCaller = null } = caller
  const { keptAnswer } = upstream
  const left = new AbortController()
  const leave = once(response, 'close', () => left.abort(), stray)
  const limit = abortAfter(left, context.config.resilience.stream_first_event)
  const said = await askForKept(
    provider,
    {
      ...{ method: about.method, caller: ofCaller, signal: left.signal },
      take: (bytes) => admitted.slot.take(bytes),
    },
    (key) => keptAnswer(rest, query, { basePath: provider.basePath, key }),
  ).finally(() => {
    limit.close()
    response.off('close', leave)
  })
  const isCancelled = rest.endsWith('/cancel')
  if (said.status === 200 && (rest === id || isCancelled))
    context.background.received(
      { responseId: id, keyName: caller.name, provider: maker.provider },
      ...([said.text, isCancelled] as const),
    )
  if (response.destroyed) return
  const from = { 'x-gateway-provider': encodeHeader(maker.provider) }
  if (own !== null && said.status === 404) reply(200, own, from)
  else reply(said.status, maskingOwn(context, ofCaller).mask(said.text), from)
}

/**
 * Returns the answer to a request about a response that the gateway stores, as JSON. Returns null for an
 * unknown id.
 */
async function answerAbout(
  { storing }: ClientDialect,
  id: string,
  about: AskedAbout,
  admitted: Admitted,
  context: CallContext,
): Promise<string | null> {
  const { responses, runsHere, config, now } = context
  const { name: keyName } = admitted.caller
  if (!responses || !storing) return null
  const run = runsHere.find(id, keyName)
  const isCancelled = run !== null && about.rest.endsWith('/cancel')
  if (run && (isCancelled || about.method === 'DELETE')) await run.cancel()
  // An unreadable response can still be deleted.
  if (about.method === 'DELETE')
    return (await responses.remove(id, keyName))
      ? storing.answerAbout(about, { id, answer: '', input: [] })
      : null
  const kept = await responses.find(id, keyName, roomOf(admitted, context))
  if (kept === null || isCancelled) return kept?.answer ?? null
  if (kept.run && about.rest.endsWith('/cancel') && kept.run.gateway !== runsHere.gateway)
    throw new GatewayError(
      'invalid_request',
      `Response with id '${id}' runs at the gateway ${kept.run.gateway}; cancel it there.`,
    )
  const limit = config.responses.background_limit
  const answer = runsHere.shown(kept, run !== null, { storing, now: now(), limit })
  return storing.answerAbout(about, { id, ...kept, answer })
}
