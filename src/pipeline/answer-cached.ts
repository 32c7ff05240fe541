// Gives a client an answer that was given before, in the form in which it was kept. Reaches no provider.
import type { CachedAnswer } from '../cache/response-cache.ts'
import { delivered, routeHeaders } from '../http/reply.ts'
import type { Answering, AnswerResult } from './answer.ts'

/** Rejects only when the gateway itself is at fault. The `attempt` of what it returns is the one that was made back then. */
export async function answerCached(
  { contentType, parts, model, tokens }: CachedAnswer,
  answering: Answering,
): Promise<AnswerResult> {
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
  headers['cache-control'] = 'no-store'
  const body = wanted.length === 1 ? wanted[0]!.bytes : Buffer.concat(wanted.map(({ bytes }) => bytes))
  if (!call.stream) headers['content-length'] = body.length
  response.writeHead(200, headers)
  const ttftMs = answering.elapsed()
  response.end(body)
  const whole = await delivered(response, context.config.resilience.idle)
  const end = whole
    ? ({ state: 'completed', status: 200, errorCode: null } as const)
    : ({ state: 'aborted', status: 499, errorCode: 'client_closed' } as const)
  return {
    outcome: { ...end, responseModel: model, ttftMs },
    attempt: { outcome: 'answered', status: 200, errorCode: null, tokens },
  }
}
