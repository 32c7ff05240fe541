// POST /v1/chat/completions: the one endpoint that spends. From top to bottom: read, route, record, send, answer,
// close the record. Once the record is open, whatever happens closes it.
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { CallTrace } from '../artifact.ts'
import { type Call, type CallOutcome, type Route, type Target, timeOfId } from '../call.ts'
import { GatewayError } from '../errors.ts'
import { type JsonBody, readJson } from '../http/body.ts'
import type { CallEndpoint } from '../http/endpoint.ts'
import { agentOf, sessionOf } from '../http/session.ts'
import { type SendOptions, type SendResult, send } from '../providers/send.ts'
import type { Mask } from '../redact.ts'
import { ChatTraits } from '../routing/request-traits.ts'
import { answerCached } from './answer-cached.ts'
import { type AnswerResult, answerClient } from './answer-client.ts'
import type { CallContext } from './context.ts'

/** What the gateway itself needs of the request; everything else is the provider's to judge, and is not even copied. */
const schema = z.object({
  model: z.string().min(1).max(256),
  messages: z.array(z.unknown()),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
})

export const chatCompletions = {
  path: '/v1/chat/completions',
  summary: 'live routing, streamed or not; the one endpoint that spends',
  request: schema.loose(),
  async handle({ request, caller, requestId, slot }, response, context): Promise<void> {
    const start = performance.now()
    const elapsed = () => Math.round((performance.now() - start) * 100) / 100
    const { config, router, store, price, mask, now } = context
    const gone = new AbortController()
    response.on('close', () => {
      if (!response.writableFinished) gone.abort()
    })

    await context.limits.admit(caller.name)
    const body = await readJson(request, config.server.body_limit, slot)
    const { model, stream, stream_options: streamOptions = null } = validate(body)
    const sessionId = sessionOf(request.headers, body.json)
    const traits = new ChatTraits(body.json)
    const routed = router.route(model, { sessionId, keyName: caller.name, traits })
    if (!routed) throw unknownModel(model)
    const { tracker } = routed
    const route = reserve()

    const clientRequest = { text: body.text, stream: stream === true, streamOptions }
    const { cache: isCached = config.cache.enabled, answer_model: answerModel = 'provider' } =
      (route.name !== null && config.routes[route.name]) || {}
    const cacheable = { ...clientRequest, endpoint: chatCompletions.path, keyName: caller.name, answerModel }
    const cacheName = isCached && !declinesCache(request.headers) ? context.cache.name(cacheable) : null
    const hit = cacheName === null ? undefined : context.cache.get(cacheName, route.candidates[0])
    const call: Call = {
      id: requestId,
      createdAt: timeOfId(requestId),
      endpoint: chatCompletions.path,
      requestedModel: model,
      sessionId,
      agentId: agentOf(request.headers),
      keyName: caller.name,
      stream: clientRequest.stream,
      cache: hit ? 'HIT' : cacheName === null ? 'BYPASS' : 'MISS',
      replayed: context.replay,
    }
    const trace = new CallTrace(call, request.headers, body, config.artifacts.bodies, start)
    try {
      await store.write({ kind: 'open', call, route })
    } catch (cause) {
      tracker.over()
      throw new GatewayError('log_unavailable', 'The call was refused: it could not be recorded.', {
        cause,
      })
    }

    const answering = {
      call,
      route,
      response,
      context,
      traits,
      answerModel,
      cacheName,
      streamOptions,
      elapsed,
    }
    let result: SendResult | null = null
    try {
      if (hit) return close(null, await answerCached(hit, answering))
      result = await send(clientRequest, route, sendOptions(call, context, trace, gone.signal, onSend))
      if (isAnswer(result)) tracker.answered(elapsed())
      close(result, await answerClient(result, answering))
    } catch (thrown) {
      // A fault of our own. What may have been spent is on record all the same, and nothing is left running.
      gone.abort()
      close(result, result ? FAULT_AFTER : FAULT_BEFORE)
      throw thrown
    }

    function reserve(): Route {
      try {
        return context.limits.reserve({
          callId: requestId,
          keyName: caller.name,
          route: routed!.route,
          traits,
          body: body.json,
        })
      } catch (error) {
        tracker.over()
        throw error
      }
    }

    function onSend(target: Target): void {
      tracker.attempt(target, elapsed())
    }

    function close(result: SendResult | null, { attempt, outcome }: AnswerResult): void {
      tracker.over()
      const at = now()
      const target = result?.target ?? route.candidates[0]
      const last = result?.failed ?? attempt
      const ended: CallOutcome = {
        ...masked(outcome, mask),
        responseModel: outcome.responseModel && mask(outcome.responseModel),
        latencyMs: elapsed(),
        tokens: result?.unknownSpend ? null : attempt.tokens,
      }
      store.write({
        kind: 'close',
        id: call.id,
        at,
        requestsSent: result?.requestsSent ?? 0,
        fallbacks: result?.fallbacks ?? 0,
        target,
        ended: hit ? null : masked({ ...last, n: result?.n ?? 1, target }, mask),
        cost: price(target, last.tokens, at),
        outcome: ended,
      })
      store.saveArtifact(call.id, trace.weight, trace.ended(ended, mask))
    }
  },
} satisfies CallEndpoint<CallContext>

/** A provider answered the call; what it refused says nothing about how quick it is. */
const isAnswer = ({ answer }: SendResult): boolean =>
  answer.kind === 'stream' || (answer.kind === 'whole' && answer.parsed !== null)

/** The client wants its answer neither from the cache nor in it. */
const declinesCache = (headers: IncomingHttpHeaders): boolean =>
  /\bno-store\b/i.test(headers['cache-control'] ?? '')

/** What is recorded when the gateway itself fails: before its request left, and after. */
const FAULT_AFTER: AnswerResult = {
  outcome: { state: 'failed', status: 500, errorCode: 'internal', responseModel: null, ttftMs: null },
  attempt: { outcome: 'unknown', status: null, errorCode: 'internal', tokens: null },
}
const FAULT_BEFORE: AnswerResult = {
  ...FAULT_AFTER,
  attempt: { ...FAULT_AFTER.attempt, outcome: 'not_sent' },
}

/** A provider may put anything into the code of an error, its key too. */
const masked = <T extends { readonly errorCode: string | null }>(end: T, mask: Mask): T =>
  end.errorCode === null ? end : { ...end, errorCode: mask(end.errorCode) }

function validate({ json }: JsonBody): z.output<typeof schema> {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  const param = path.join('.')
  throw new GatewayError('invalid_request', `${param}: ${message}`, { param })
}

function unknownModel(model: string): GatewayError {
  const message = `No route and no provider/model is called ${JSON.stringify(model)}; GET /v1/models lists what there is.`
  return new GatewayError('model_not_found', message, { param: 'model' })
}

/** How this call is sent: its limits, and what is recorded and remembered on the way. */
function sendOptions(
  call: Call,
  context: CallContext,
  trace: CallTrace,
  gone: AbortSignal,
  onSend: SendOptions['onSend'],
): SendOptions {
  const { config, router, store, price, providers, mask, now } = context
  const { stream_first_event, answer, idle, retries, cooldown } = config.resilience
  return {
    providers,
    limits: { responseStart: call.stream ? stream_first_event : answer, idle },
    retries,
    cooldown,
    gone,
    onSend,
    onFailure: router.cool,
    trace: (...request) => trace.exchange(...request),
    async onAttempt({ n, target, fallbacks, requestsSent, before }) {
      const at = now()
      const ended = { ...masked(before.end, mask), n: n - 1, target: before.target }
      const cost = price(ended.target, ended.tokens, at)
      try {
        await store.write({ kind: 'next', id: call.id, at, ended, cost, target, fallbacks, requestsSent })
        return true
      } catch {
        return false // not recorded, so not made; the client gets what the attempts so far gave
      }
    },
  }
}
