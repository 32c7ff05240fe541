// The end of a call that was refused but may be on record: nothing was sent. If it is not on record, this writes nothing.
// Pure.
import type { Write } from './writes.ts'

export const refusedEnd = ({ call, route }: Extract<Write, { kind: 'open' }>, at: number): Write => ({
  kind: 'close',
  id: call.id,
  at,
  requestsSent: 0,
  fallbacks: 0,
  target: route.candidates[0],
  ended: null,
  cost: { usd: null, price: null },
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
