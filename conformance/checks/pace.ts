// Measures the current speed of a gateway on this machine. A check with a limit in milliseconds adds the time
// of an ordinary call to the limit, so that other work on the machine does not fail a correct gateway.
import type { Evidence } from '../evidence/evidence.ts'
import { step } from '../evidence/step.ts'
import type { CheckContext, OpenCall } from '../runner/context.ts'

const ordinary = step('ordinary call')

/** Makes an ordinary, valid call. */
export const ordinaryCall = (session: CheckContext) => session.chat(ordinary)

/** Returns the time of the slowest ordinary call that was answered, ms; 0 if none was. */
export const pace = (evidence: Pick<Evidence, 'exchanges'>): number =>
  Math.max(0, ...ordinary.in(evidence).map(({ at, end_at, status }) => (status === 200 ? end_at - at : 0)))

/** Maximum delay of a stream's event on an idle machine, ms. */
export const EVENT_TIMEOUT_MS = 3_000
/** Number of other calls that a gateway completes while an event is due, before the event counts as held back. */
const CALLS_MEANWHILE = 5

/** Returns false once the gateway holds an event back: it had enough time, and completed other calls. */
export async function saysInTime(session: CheckContext, call: OpenCall, text: string): Promise<boolean> {
  if (await call.says(text, EVENT_TIMEOUT_MS)) return true
  for (let n = 0; n < CALLS_MEANWHILE; n++) {
    await ordinaryCall(session)
    if (await call.says(text, 0)) return true
  }
  return false
}
