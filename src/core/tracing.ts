// Relates calls to traces by W3C Trace Context: the caller's trace, our ids, and the headers for a provider.
// All values are derived from the record, so a span that is sent twice, or after a restart, keeps its ids.
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Uses of a caller's trace: continued, linked to, or ignored. */
export const TRACE_PARENTS = ['trace', 'link', 'none'] as const

export interface TracingSettings {
  readonly parent: (typeof TRACE_PARENTS)[number]
  /** Share of calls that are traced. */
  readonly sample: number
  /** True if the caller decides about sampling in a continued trace. */
  readonly follow_caller: boolean
}

/** A place in a trace. */
export interface SpanPlace {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
}

/** Recorded id of a call, with its caller's trace context. */
export interface TracedCall {
  readonly id: string
  readonly traceparent: string | null
}

/** Trace of a call. */
export interface TraceOfCall {
  readonly traceId: string
  /** The caller's span, if it is the parent. */
  readonly parent: SpanPlace | null
  /** The caller's span, if it is only linked. */
  readonly link: SpanPlace | null
  readonly sampled: boolean
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/

/** Returns the caller's `traceparent` in the format of version 00; null if it is absent or invalid. */
export function traceparentOf({ traceparent }: IncomingHttpHeaders): string | null {
  const [, version, traceId, spanId, flags, more] =
    (typeof traceparent === 'string' && TRACEPARENT.exec(traceparent)) || []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null
  if (ZEROS.test(traceId!) || ZEROS.test(spanId!)) return null
  return `00-${traceId}-${spanId}-0${Number.parseInt(flags!, 16) & 1}`
}

/** Returns the span id of the call (`n` is 0) or of an attempt. */
export const spanIdOf = (callId: string, n: number): string =>
  createHash('sha256').update(`${callId} ${n}`).digest('hex').slice(0, 16)

export function traceOf(
  { id, traceparent }: TracedCall,
  { parent, sample, follow_caller }: TracingSettings,
): TraceOfCall {
  const [, traceId, spanId, flags] = (parent === 'none' ? null : traceparent)?.split('-') ?? []
  const caller = traceId === undefined ? null : { traceId, spanId: spanId! }
  const continues = caller !== null && parent === 'trace'
  const own = continues ? caller.traceId : id.replaceAll('-', '')
  return {
    traceId: own,
    parent: continues ? caller : null,
    link: continues ? null : caller,
    sampled: continues && follow_caller ? flags === '01' : isSampled(own, sample),
  }
}

/** Decides by the random end of the trace id, so that all participants decide in the same way. */
const isSampled = (traceId: string, share: number): boolean =>
  share >= 1 || Number.parseInt(traceId.slice(-8), 16) / 2 ** 32 < share

const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{1,256}$/

/** Returns true for a valid W3C member list. Invalid and overlong lists are dropped. */
function isTracestate(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > 1_024) return false
  const members = text.split(',').map((member) => member.trim())
  return members.length <= 32 && members.every((member) => MEMBER.test(member))
}

/** Returns headers (alternating names and values) that make a provider's spans children of the attempt's span. */
export function traceHeaders(
  call: TracedCall,
  n: number,
  settings: TracingSettings,
  { tracestate }: IncomingHttpHeaders,
): string[] {
  const { traceId, parent, sampled } = traceOf(call, settings)
  const headers = ['traceparent', `00-${traceId}-${spanIdOf(call.id, n)}-0${sampled ? 1 : 0}`]
  return parent !== null && isTracestate(tracestate) ? [...headers, 'tracestate', tracestate] : headers
}
