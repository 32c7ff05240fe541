// One line of the gateway's own log per call: where it went and what came of it. No prompt, no answer, no key; the
// session only at level debug. What clients and providers chose is made fit for a terminal first (TELL-06).
import type { Log } from '../log.ts'
import { plain } from '../terminal/clean.ts'
import type { Observer } from './watch.ts'

/** Text of strangers without the characters that steer a terminal; null stays null. */
const safe = (text: string | null): string | null => text && plain(text)

/** Says each call's end at info, and its beginning at debug. */
export const logCalls = (log: Log): Observer => ({
  opened({ call, route }) {
    const { provider, model } = route.candidates[0]
    log.debug(
      {
        id: call.id,
        requested_model: safe(call.requestedModel),
        provider,
        model: safe(model),
        session_id: safe(call.sessionId),
        agent_id: safe(call.agentId),
      },
      'call opened',
    )
  },
  closed({ call, route, fallbacks }, { target, outcome, requestsSent, costUsd }) {
    const { tokens } = outcome
    log.info(
      {
        id: call.id,
        requested_model: safe(call.requestedModel),
        provider: target.provider,
        model: safe(target.model),
        route: route.name,
        strategy: route.strategy,
        key_name: call.keyName,
        stream: call.stream,
        state: outcome.state,
        status: outcome.status,
        error_code: safe(outcome.errorCode),
        attempts: requestsSent,
        fallbacks,
        latency_ms: outcome.latencyMs,
        ttft_ms: outcome.ttftMs,
        tokens: tokens && { input: tokens.input, output: tokens.output },
        cost_usd: costUsd,
        cache: call.cache,
      },
      'call',
    )
  },
})

/** A failure of our own as fields of a log line: no secret, no character that steers a terminal. */
export function errorFields(error: unknown, mask: (text: string) => string): object {
  const lines = (text: string) => mask(text).split('\n').map(plain).join('\n')
  if (!(error instanceof Error)) return { err: { message: lines(String(error)) } }
  const { name, message, stack } = error
  return { err: { type: name, message: lines(message), stack: lines(stack ?? '') } }
}
