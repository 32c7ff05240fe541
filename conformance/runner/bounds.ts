// Limits of a run in bytes and time, which hold for every gateway. If a gateway sends without end or never
// ends an answer, the run ends with a reason, and reports the checks completed so far. Pure.
import { countWithoutEnd, MAX_WITHOUT_END } from '../checks/context.ts'
import type { Evidence } from '../evidence/evidence.ts'

/** Default time limit of a run, ms. */
export const MAX_RUN_MS = 60 * 60_000
/** Maximum bytes of all answers of a run. */
const MAX_RUN_BYTES = 160 * 2 ** 20

export interface Bounds {
  /** Adds the evidence of a check; returns the reason why the run must end, or null. */
  exceeded(evidence: Evidence): string | null
}

export function openBounds(name: string): Bounds {
  let bytes = 0
  let withoutEnd = 0
  let wasRestarted = false
  return {
    exceeded({ check, exchanges, facts }) {
      // Some gateways need minutes to recover from the flood of the previous check. The count therefore
      // begins again, once, when a gateway that no longer answers is restarted.
      const isNewStart = typeof facts.gone === 'string' && !wasRestarted
      for (const { n, request, end, error, body } of exchanges) {
        bytes += body.length
        if (end === 'too_long')
          return `${name} sent too much in ${check}#${n}, ${request.method} ${request.path.slice(0, 80)}: ${error}`
        withoutEnd = countWithoutEnd(withoutEnd, { end, body })
        if (withoutEnd >= MAX_WITHOUT_END && !isNewStart)
          return `${withoutEnd} answers of ${name} in a row had no end in their time, the last of them ${check}#${n}: ${error}`
      }
      if (isNewStart) {
        wasRestarted = true
        withoutEnd = 0
      }
      if (bytes <= MAX_RUN_BYTES) return null
      return `the answers of ${name} hold more than ${MAX_RUN_BYTES / 2 ** 20} MiB together, which is too much to judge`
    },
  }
}
