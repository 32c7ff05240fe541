// Reads, lists, cancels or deletes answers that a provider stores, for the key that made them. The record
// names the provider. Answers that the gateway itself stores are served here. Causes no inference and no
// record. Independent of the dialect.
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import { type CredentialAnswer, CredentialError } from '../credentials/credentials.ts'
import type { AskedAbout, ClientDialect, KeptAnswers, ProviderRequest } from '../dialects/dialect.ts'
import { errorCode, member } from '../dialects/json.ts'
import { dropBody } from '../http/body.ts'
import type { Admitted, CallEndpoint } from '../http/endpoint.ts'
import { encodeHeader, replyJson } from '../http/reply.ts'
import type { Provider } from '../providers/send.ts'
import { request as askOne } from '../providers/undici.ts'
import { waitingTime } from '../providers/waiting-time.ts'
import { abortAfter, detached, once, stray } from '../shared/boundary.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { ANSWER_WEIGHT } from '../shared/memory.ts'
import type { CallContext } from './context.ts'
import { maskingOwn } from './find-route.ts'
import { roomOf } from './provider-state.ts'

/** Returns a dialect's endpoints for stored answers. */
export const keptAnswersEndpoints = (
  dialect: ClientDialect,
  kept: KeptAnswers,
): CallEndpoint<CallContext>[] =>
  [kept.path, ...(kept.alsoAt ?? [])].map((path) => endpointAt(path, dialect, kept))

const endpointAt = (path: string, dialect: ClientDialect, kept: KeptAnswers): CallEndpoint<CallContext> => ({
  path,
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
        ? `${kept.noun} with id '${id}' not found: ${maker.provider}, which made it, is not configured any more.`
        : `${kept.noun} with id '${id}' not found: no call of this key has it on record.`,
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
      `The background answer with id '${id}' runs at the gateway ${kept.run.gateway}; cancel it there.`,
    )
  const limit = config.responses.background_limit
  const answer = runsHere.shown(kept, run !== null, { storing, now: now(), limit })
  return storing.answerAbout(about, { id, ...kept, answer })
}

interface Asking {
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
