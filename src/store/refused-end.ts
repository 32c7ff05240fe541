// Makes the end of a call that was refused but may be on record. Nothing was sent for it. Writes nothing for
// a call that is not on record. Pure.
import { UNKNOWN_USAGE } from '../pricing/cost.ts'
import type { Opening, Write } from './writes.ts'

export const refusedEnd = ({ call, route }: Opening, at: number): Exclude<Write, Opening> => ({
  kind: 'close',
  id: call.id,
  at,
  requestsSent: 0,
  fallbacks: 0,
  target: route.candidates[0],
  ended: null,
  cost: UNKNOWN_USAGE,
  outcome: {
    state: 'failed',
    status: 503,
    errorCode: 'log_unavailable',
    responseModel: null,
    latencyMs: Math.max(0, at - call.createdAt),
    ttftMs: null,
    tokens: null,
  },
})
