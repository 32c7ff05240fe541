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
import { cleanLabel } from '../terminal/clean.ts'

/** Maximum refusals logged in a second; a flood of them must not fill the disk. */
const LOGGED_PER_SECOND = 5

/**
 * Returns a function that counts, lists and logs a call that was refused before it was recorded. A log line names the
 * number of refusals since the previous line that were not logged.
 */
export function noteRefusals(
  meters: Pick<Metrics, 'refused'>,
  refusals: Pick<Refusals, 'add'>,
  log: Log,
  mask: () => Mask,
): (error: GatewayError, refused: RefusedCall) => void {
  let [second, logged, left_out] = [0, 0, 0]
  return ({ code, status, message }, { requestId: id, caller, path: endpoint }) => {
    meters.refused(code)
    if (code === 'client_closed') return // the client's own choice
    const createdAt = timeOfId(id)
    const keyName = caller?.name ?? null
    refusals.add({ id, createdAt, keyName, endpoint, status, code, message }, caller !== null)
    const now = Math.floor(createdAt / 1_000)
    if (now !== second) [second, logged] = [now, 0]
    if (++logged > LOGGED_PER_SECOND) {
      left_out++
      return
    }
    const reason = cleanLabel(mask()(message))
    log.info(
      {
        id,
        endpoint: cleanLabel(endpoint),
        key_name: keyName,
        status,
        error_code: code,
        reason,
        ...(left_out && { left_out }),
      },
      'call refused',
    )
    left_out = 0
  }
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
