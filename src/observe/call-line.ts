// Writes one line for each call to the process log, with its route and result. The line contains no prompt,
// answer or key; the session appears only at level debug. Texts from clients and providers are first made
// safe for a terminal (TELL-06).

import type { Call, Route, Target } from '../core/call.ts'
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

/** Writes the line as JSON text, which takes a third of the time of an object that is formatted later. */
function logEnd(
  log: Log,
  { call, route, fallbacks }: WatchedCall,
  { target, outcome, requestsSent, cost, closing }: CallEnd,
): void {
  const { tokens, status, latencyMs, ttftMs, responseModel } = outcome
  const { usd, missing, flatUsd } = cost
  let members = `"id":"${call.id}",${placeOf(call, route, target)},"stream":${call.stream}`
  members += `,"state":"${outcome.state}","status":${number(status)},"error_code":${text(outcome.errorCode)}`
  members += `,"attempts":${requestsSent},"fallbacks":${fallbacks}`
  members += `,"latency_ms":${number(latencyMs)},"ttft_ms":${number(ttftMs)},"tokens":`
  members += tokens ? `{"input":${number(tokens.input)},"output":${number(tokens.output)}}` : 'null'
  if (isOtherModel(target.model, responseModel)) members += `,"response_model":${text(responseModel)}`
  if (tokens?.served?.service_tier != null) members += `,"service_tier":${text(tokens.served.service_tier)}`
  members += `,"cost_usd":${usd === null ? null : number(roundUsd(usd))}`
  if (missing.length > 0) members += `,"cost_missing":${JSON.stringify(missing)}`
  if (isEstimate({ cost_usd: usd, tokens, reported_usd: closing.cost.reported?.usd }))
    members += ',"cost_is_estimated":true'
  if (flatUsd !== undefined) members += `,"flat_usd":${number(roundUsd(flatUsd))}`
  members += `,"cache":"${call.cache}"`
  if (log.infoText) log.infoText(members, 'call')
  else log.info(JSON.parse(`{${members}}`), 'call')
}

const text = (value: string | null): string => (value === null ? 'null' : JSON.stringify(cleanLabel(value)))
/** JSON has no other numbers. */
const number = (value: number | null): number | null => (Number.isFinite(value) ? value : null)

type Place = Pick<Target, 'provider' | 'model'>
/** The last members that were written for a route. Its next call mostly has the same. */
const places = new WeakMap<
  Route,
  Pick<Call, 'requestedModel' | 'keyName'> & { readonly target: Place; readonly members: string }
>()

/** Returns the members about what was asked by whom, and where it went. */
function placeOf(call: Call, route: Route, target: Place): string {
  const { requestedModel, keyName } = call
  const last = places.get(route)
  if (last?.target === target && last.requestedModel === requestedModel && last.keyName === keyName)
    return last.members
  const { provider, model } = target
  let members = `"requested_model":${text(requestedModel)},"provider":${text(provider)}`
  members += `,"model":${text(model)},"route":${text(route.name)},"strategy":${text(route.strategy)}`
  members += `,"key_name":${text(keyName)}`
  places.set(route, { requestedModel, keyName, target, members })
  return members
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
