// Sends an answer from the cache to the client, in the form in which it was stored. Calls no provider.
import type { CachedAnswer } from '../cache/recorder.ts'
import { delivered, routeHeaders, withLosses } from '../http/reply.ts'
import { type Answering, ending } from './answer.ts'

/** Throws only if the gateway itself fails. The `attempt` in the reported result is the original one. */
export function answerCached(
  { contentType, parts, model, tokens, losses, renamed }: CachedAnswer,
  answering: Answering,
): void {
  const { call, request, route, response, context } = answering
  const wanted = parts.filter(({ usageOnly }) => !usageOnly || request.wantsUsage)
  const headers = routeHeaders(
    call,
    route,
    route.candidates[0],
    0,
    { 'content-type': contentType },
    /^$/,
    context.mask,
  )
  withLosses(headers, losses)['cache-control'] = 'no-store'
  if (renamed.length > 0) headers['x-gateway-adjusted'] = renamed.join(', ')
  const body = wanted.length === 1 ? wanted[0]!.bytes : Buffer.concat(wanted.map(({ bytes }) => bytes))
  if (!call.stream) headers['content-length'] = body.length
  response.writeHead(200, headers)
  const ttftMs = answering.elapsed()
  response.end(body)
  delivered(response, call.keyName, context.config.resilience.idle, (whole) =>
    answering.answered({
      outcome: { ...ending(whole, 200), responseModel: model, ttftMs },
      attempt: { outcome: 'answered', status: 200, errorCode: null, tokens },
    }),
  )
}
