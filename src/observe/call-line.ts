// Writes one line for each call to the process log, with its route and result. The line contains no prompt,
// answer or key; the session appears only at level debug. Texts from clients and providers are first made
// safe for a terminal (TELL-06).

import { roundUsd } from '../core/money.ts'
import { type Log, UNSAID } from '../core/process-log.ts'
import { isOtherModel } from '../shared/model-names.ts'
import { cleanLabel } from '../terminal/clean.ts'
import { isEstimate } from '../terminal/numbers.ts'
import type { CallEnd, Observer, WatchedCall } from './watch.ts'

/** Removes terminal control characters from foreign text. Null stays null. */
const safe = (text: string | null): string | null => text && cleanLabel(text)

/** Logs the end of each call at info, and its start at debug. */
export const logCalls = (log: Log): Observer => ({
  ...(log.debug !== UNSAID && { opened: (watched: WatchedCall) => logOpening(log, watched) }),
  ...(log.info !== UNSAID && { closed: (watched: WatchedCall, end: CallEnd) => logEnd(log, watched, end) }),
})

function logOpening(log: Log, { call, route }: WatchedCall): void {
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
}

function logEnd(
  log: Log,
  { call, route, fallbacks }: WatchedCall,
  { target, outcome, requestsSent, cost, closing }: CallEnd,
): void {
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
      response_model: isOtherModel(target.model, outcome.responseModel)
        ? safe(outcome.responseModel)
        : undefined,
      service_tier: tokens?.served?.service_tier ?? undefined,
      cost_usd: cost.usd === null ? null : roundUsd(cost.usd),
      cost_missing: cost.missing.length > 0 ? cost.missing : undefined,
      cost_is_estimated:
        isEstimate({ cost_usd: cost.usd, tokens, reported_usd: closing.cost.reported?.usd }) || undefined,
      flat_usd: cost.flatUsd === undefined ? undefined : roundUsd(cost.flatUsd),
      cache: call.cache,
    },
    'call',
  )
}

/**
 * Formats a failure of the gateway as fields of a log line, without secrets and terminal control characters.
 */
export function errorFields(error: unknown, mask: (text: string) => string): object {
  const lines = (text: string) => mask(text).split('\n').map(cleanLabel).join('\n')
  if (!(error instanceof Error)) return { err: { message: lines(String(error)) } }
  const { name, message, stack } = error
  return { err: { type: name, message: lines(message), stack: lines(stack ?? '') } }
}

/** Forms of a variable that a client did not replace: `NAME_OF_IT`, `$NAME`, `${name}`, `%NAME%`, `{{name}}`, `<name>`. */
const VARIABLE = /^(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|\$\w+|\$?\{+[^}]*\}+|%\w+%|<[^>]*>)$/

/**
 * Warns once of a session id that looks like the name of a variable: then all sessions of a client are one on record, for
 * `sticky` and for budgets.
 */
export function warnOfVariables(log: Log): Observer {
  let isTold = false
  return {
    opened({ call: { sessionId, client } }) {
      if (isTold || sessionId === null || !VARIABLE.test(sessionId)) return
      isTold = true
      log.warn(
        { session_id: safe(sessionId), client: safe(client) },
        'a session id looks like the name of a variable, so all sessions of this client are one; check its settings',
      )
    },
  }
}
