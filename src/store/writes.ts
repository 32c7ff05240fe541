// The six events of a call that are written, as values that any table accepts. A provider may put anything into a
// number or a string: an impossible count, status or amount becomes unknown, and strings are truncated. Pure; knows no
// database.
import type { AttemptEnd, Call, CallOutcome, Route, Target, Tokens } from '../core/call.ts'
import type { KnownCost } from '../core/record.ts'
import type { Served } from '../core/served.ts'
import { type Cost, UNKNOWN_USAGE } from '../pricing/cost.ts'
import type { Mask } from '../shared/redact.ts'

/** Parts missing from the cost of an interrupted call, in the format of the record's column. */
export const INTERRUPTED_COST_MISSING = JSON.stringify(['attempt'])

/** End of an attempt, with its target. */
export interface EndedAttempt extends AttemptEnd {
  readonly n: number
  readonly target: Pick<Target, 'provider' | 'model'>
}

/** The opening of a call. */
export interface Opening {
  readonly kind: 'open'
  readonly call: Call
  readonly route: Route
  /** US dollars reserved in its key's budget; absent without a budget. */
  readonly reserved?: number
}

/**
 * - `open`: the call is routed, and its first attempt is about to be sent unless the cache has the answer.
 * - `next`: an attempt failed and another is about to be sent.
 * - `streaming`: the response headers were sent to the client.
 * - `named`: the provider's ids of the answer are known, but the client does not have its end yet.
 * - `background`: the call continues at its provider, and stays open over a restart. `run`: JSON of the
 *   request that fetches it.
 * - `close`: the call is over; `ended` is its last attempt, null if there was none.
 */
export type Write =
  | Opening
  | {
      readonly kind: 'next'
      readonly id: string
      readonly at: number
      readonly ended: EndedAttempt
      /** Cost of the attempt that ended. */
      readonly cost: Cost
      /** US dollars charged to the key's budget if the cost is unknown; absent without a budget. */
      readonly charge?: number
      readonly target: Target
      readonly fallbacks: number
      /** Requests sent so far. */
      readonly requestsSent: number
    }
  | {
      readonly kind: 'streaming'
      readonly id: string
      readonly ttftMs: number
      /** Names of all objects that the provider made for the call; absent if it made none. */
      readonly objects?: readonly string[]
      /** True if the call stays open after its answer, until its batch is fetched. */
      readonly staysOpen?: boolean
    }
  | {
      readonly kind: 'named'
      readonly id: string
      readonly responseId: string | null
      readonly containerId: string | null
      /** True if the client waits for this write; then the write goes with the next batch. */
      readonly isAwaited: boolean
    }
  | { readonly kind: 'background'; readonly id: string; readonly run: string }
  | {
      readonly kind: 'close'
      readonly id: string
      readonly at: number
      readonly ended: EndedAttempt | null
      /** Cost of the last attempt. For an answer from the cache, the cost that it would have had. */
      readonly cost: Cost
      /** Cost of the attempts before the last; absent if there were none. */
      readonly earlier?: KnownCost
      /** True if the call continued in the background. */
      readonly wasBackground?: true
      /** See `next`. */
      readonly charge?: number
      /** The target that served the call, or was tried last. */
      readonly target: Pick<Target, 'provider' | 'model' | 'tier'>
      readonly fallbacks: number
      readonly outcome: CallOutcome
      readonly requestsSent: number
      /** True for the late end of a batch whose reservation may be from before a restart. */
      readonly releases?: true
    }

/** Returns a write whose usage contains no secret, because a provider may put anything into its words and names. */
export function maskedUsage(write: Exclude<Write, Opening>, mask: () => Mask): Exclude<Write, Opening> {
  const masked = <End extends { readonly tokens: Tokens | null }>(end: End): End => {
    if (!end.tokens?.served) return end
    const before = JSON.stringify(end.tokens.served)
    const after = mask()(before)
    return after === before ? end : { ...end, tokens: { ...end.tokens, served: JSON.parse(after) } }
  }
  if (write.kind === 'next') return { ...write, ended: masked(write.ended) }
  if (write.kind !== 'close') return write
  const [ended, outcome] = [write.ended && masked(write.ended), masked(write.outcome)]
  return ended === write.ended && outcome === write.outcome ? write : { ...write, ended, outcome }
}

/** Makes the end of a call that was refused but may be on record. Nothing was sent for it. */
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

/** Maximum characters of a provider's text on record. */
const MAX_TEXT_LENGTH = 256
/** Maximum cost of an attempt, US dollars. */
const MAX_USD = 1e9

/**
 * Returns the write in a form that can be recorded. An opening comes from the gateway itself and stays
 * unchanged.
 */
export function storable(write: Exclude<Write, Opening>): Exclude<Write, Opening> {
  switch (write.kind) {
    case 'streaming':
      return {
        ...write,
        ttftMs: amount(write.ttftMs) ?? 0,
        ...(write.objects && { objects: write.objects.filter((name) => idOf(name) !== null) }),
      }
    case 'background':
      return write
    case 'named':
      return { ...write, responseId: idOf(write.responseId), containerId: idOf(write.containerId) }
    case 'next':
      return { ...write, ended: endOf(write.ended), cost: costOf(write.cost) }
    case 'close': {
      const { ended, outcome } = write
      return {
        ...write,
        ended: ended && endOf(ended),
        cost: costOf(write.cost),
        outcome: {
          state: outcome.state,
          status: count(outcome.status),
          errorCode: text(outcome.errorCode),
          responseModel: text(outcome.responseModel),
          responseId: idOf(outcome.responseId),
          containerId: idOf(outcome.containerId),
          cacheLost: count(outcome.cacheLost ?? null),
          planLimits: outcome.planLimits ?? null,
          latencyMs: amount(outcome.latencyMs) ?? 0,
          ttftMs: amount(outcome.ttftMs),
          tokens: tokensOf(outcome.tokens),
        },
      }
    }
  }
}

/**
 * Returns the write without any content from the provider, for a table that still refuses it. The fact of the
 * call, its target and its end remain.
 */
export function reduced(write: Write): Write {
  const silent = (ended: EndedAttempt): EndedAttempt => ({
    ...ended,
    status: null,
    errorCode: null,
    tokens: null,
  })
  switch (write.kind) {
    case 'open':
    case 'streaming':
    case 'background':
      return write
    case 'named':
      return { ...write, responseId: null, containerId: null }
    case 'next':
      return { ...write, ended: silent(write.ended), cost: UNKNOWN_USAGE }
    case 'close': {
      const { ended, outcome } = write
      const { state, latencyMs, ttftMs } = outcome
      return {
        ...write,
        ended: ended && silent(ended),
        cost: UNKNOWN_USAGE,
        outcome: {
          state,
          latencyMs,
          ttftMs,
          status: null,
          errorCode: null,
          responseModel: null,
          tokens: null,
        },
      }
    }
  }
}

const endOf = ({ n, target, credential = null, ...end }: EndedAttempt): EndedAttempt => ({
  n,
  target,
  outcome: end.outcome,
  status: count(end.status),
  errorCode: text(end.errorCode),
  refusal: text(end.refusal ?? null),
  tokens: tokensOf(end.tokens),
  losses: end.losses ? end.losses.map(String) : null,
  credential: text(credential),
  adjusted: end.adjusted ? end.adjusted.map(String) : null,
  transport: end.transport ?? null,
})

function costOf({ usd, missing, price, flat, reported, parts }: Cost): Cost {
  const plausible = typeof usd === 'number' && usd < MAX_USD ? amount(usd) : null
  return {
    usd: plausible,
    missing: plausible === null && missing.length === 0 ? UNKNOWN_USAGE.missing : missing,
    price: typeof price === 'object' ? price : null,
    ...(flat && { flat }),
    ...(reported && { reported: { usd: amount(reported.usd) ?? 0, priced: amount(reported.priced) } }),
    ...(parts && { parts: parts.map(amount) }),
  }
}

function tokensOf(tokens: Tokens | null): Tokens | null {
  if (typeof tokens !== 'object' || tokens === null) return null
  const { source } = tokens
  return {
    source: source === 'estimated' || source === null ? source : 'reported',
    input: count(tokens.input),
    output: count(tokens.output),
    cached_input: count(tokens.cached_input),
    cache_write: count(tokens.cache_write),
    reasoning: count(tokens.reasoning),
    ...(tokens.cache_write_1h != null && { cache_write_1h: count(tokens.cache_write_1h) }),
    ...(tokens.images !== undefined && { images: count(tokens.images) ?? 0 }),
    ...(tokens.served && { served: servedOf(tokens.served) }),
  }
}

/** Maximum characters of everything else that a provider reports, as JSON. */
const MAX_USAGE_LENGTH = 16_384

/** The dialects bound each member when they read it. If the whole is still too long, only its axes remain. */
function servedOf(served: Served): Served {
  const { service_tier, speed, region, parts, tools, other } = served
  const axes = { service_tier: text(service_tier), speed: text(speed), region: text(region) }
  const mayBeLong = parts !== undefined || tools !== undefined || other !== undefined
  return mayBeLong && JSON.stringify(served).length > MAX_USAGE_LENGTH ? axes : { ...served, ...axes }
}

const count = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null

const amount = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY ? value : null

/** A truncated id would be a different id. */
const idOf = (id: string | null | undefined): string | null =>
  id && id.length <= MAX_TEXT_LENGTH ? id : null

/** SQLite measures a string only up to the first NUL. A lone surrogate has no UTF-8. */
function text(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const short = value.length > MAX_TEXT_LENGTH ? value.slice(0, MAX_TEXT_LENGTH) : value
  const whole = short.isWellFormed() ? short : withoutHalves(short, value.length > MAX_TEXT_LENGTH)
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole
}

const withoutHalves = (value: string, isCut: boolean): string =>
  (isCut ? value.replace(/[\ud800-\udbff]$/, '') : value).toWellFormed()
