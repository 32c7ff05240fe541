// Handles requests without an answer: a refused request, or a failure of the gateway itself.
import { timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { type Log, unfailing } from '../core/process-log.ts'
import type { Refusals } from '../http/refusals.ts'
import type { RefusedCall } from '../http/server.ts'
import { errorFields } from '../observe/call-line.ts'
import type { Metrics } from '../observe/metrics.ts'
import { REPORTED } from '../shared/boundary.ts'
import type { Mask } from '../shared/redact.ts'

/** Counts and lists a call that was refused before it was recorded. */
export function noteRefusal(
  { code, status, message }: GatewayError,
  { requestId, caller, path }: RefusedCall,
  meters: Pick<Metrics, 'refused'>,
  refusals: Pick<Refusals, 'add'>,
): void {
  meters.refused(code)
  if (code === 'client_closed') return // the client's own choice
  const createdAt = timeOfId(requestId)
  const keyName = caller?.name ?? null
  refusals.add({ id: requestId, createdAt, keyName, endpoint: path, status, code, message }, caller !== null)
}

/**
 * Logs a failure of the gateway. A failed request log is logged without a stack, because a full disk refuses
 * many calls.
 */
function logFailure(log: Log, error: unknown, requestId: string, mask: Mask): void {
  const cause = error instanceof GatewayError ? (error.cause ?? error) : error
  if (error instanceof GatewayError && error.code === 'log_unavailable')
    log.error(
      { request_id: requestId, reason: mask(cause instanceof Error ? cause.message : String(cause)) },
      'the request log failed',
    )
  else log.error({ request_id: requestId, ...errorFields(cause, mask) }, 'internal error')
}

/**
 * Counts and logs failures of the gateway itself, of a request and outside of any. Returns also the log for everything
 * else, whose own failures count as well.
 */
export function createFaults(
  given: Log,
  meters: Pick<Metrics, 'failed'>,
  now: () => number,
  mask: () => Mask,
) {
  const faults = { count: 0, last: 0 }
  const note = () => {
    meters.failed()
    faults.count++
    faults.last = now()
  }
  const lastTry = unfailing(given, () => REPORTED)
  const log = unfailing(given, (error) => {
    note()
    lastTry.error(errorFields(error, mask()), 'an entry of the process log was lost')
    return REPORTED
  })
  return {
    log,
    faults,
    onInternalError(error: unknown, requestId: string) {
      note()
      logFailure(log, error, requestId, mask())
    },
    onStrayError(error: unknown) {
      note()
      log.error(errorFields(error, mask()), 'internal error outside of a call')
    },
  }
}
