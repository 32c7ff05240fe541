// Observes calls at the single place that all calls pass: the writes to the record. Observers therefore see exactly the
// recorded values. The feed tells each change of a call to the readers of live events; without them it costs nothing.
// Independent of logs, metrics, HTTP and the database.
import type { Call, CallOutcome, Route, Target } from '../core/call.ts'
import { roundUsd } from '../core/money.ts'
import {
  CALL_FIELDS,
  type CallRecord,
  costOfCall,
  type Field,
  type KnownCost,
  type RecordTokens,
  savedOfCall,
} from '../core/record.ts'
import { clock } from '../shared/clock.ts'
import type { Mask } from '../shared/redact.ts'
import type { Store } from '../store/store.ts'
import { type EndedAttempt, maskedUsage, storable, type Write } from '../store/writes.ts'
import { safeJson } from '../terminal/clean.ts'

/** A recorded call. */
export interface WatchedCall {
  readonly call: Call
  readonly route: Route
  /** Changes of target so far. */
  readonly fallbacks: number
  /** Current target, and the number of requests sent so far. */
  readonly target: Pick<Target, 'provider' | 'model' | 'tier'>
  readonly requestsSent: number
  /** Milliseconds to the response start; null before it. */
  readonly ttftMs: number | null
}

/** End of a call. */
export interface CallEnd {
  readonly target: Pick<Target, 'provider' | 'model'>
  readonly outcome: CallOutcome
  /** Number of requests sent to providers. */
  readonly requestsSent: number
  /** As on record. */
  readonly cost: KnownCost
  /** Saved cost of a cache hit; null if unknown or not a hit. */
  readonly savedUsd: number | null
  /** The write that closes a call, see `src/core/record.ts`. */
  readonly closing: Extract<Write, { kind: 'close' }>
}

/** An observer of all calls. */
export interface Observer {
  opened?(watched: WatchedCall): void
  /** Reports the duration of a write that must be on disk before bytes are sent to a provider, ms. */
  recorded?(ms: number): void
  /** An attempt of a call ended. */
  attempted?(ended: EndedAttempt): void
  /** A call moved on to another target. */
  fellBack?(watched: WatchedCall): void
  /** Another attempt of a call is about to be sent, or its response has started. */
  changed?(watched: WatchedCall): void
  closed?(watched: WatchedCall, end: CallEnd): void
}

/** Joins observers to one. Only those that listen to an event are called for it. */
function listeners(observers: readonly Observer[], onFault: (error: unknown) => void): Required<Observer> {
  const all = (event: keyof Observer) => {
    const hear = observers.flatMap((observer) => observer[event]?.bind(observer) ?? []) as ((
      ...told: unknown[]
    ) => void)[]
    return (first: unknown, second?: unknown) => {
      for (const each of hear)
        try {
          each(first, second)
        } catch (error) {
          onFault(error)
        }
    }
  }
  return {
    opened: all('opened'),
    recorded: all('recorded'),
    attempted: all('attempted'),
    fellBack: all('fellBack'),
    changed: all('changed'),
    closed: all('closed'),
  }
}

/**
 * Returns the store's `open` and `write`, with observers of each write. An observer's exception is passed
 * only to `onFault`, because observers must never prevent a write. `mask`: returns the present mask of usages.
 */
export function watchWrites(
  { open, write }: Pick<Store, 'open' | 'write'>,
  observers: readonly Observer[],
  onFault: (error: unknown) => void,
  mask: () => Mask,
): Pick<Store, 'open' | 'write'> {
  const calls = new Map<string, WatchedCall>()
  const tell = listeners(observers, onFault)
  const tellEnd = (write: Extract<Write, { kind: 'close' }>) => {
    const { id, outcome, requestsSent, target, ended } = write
    const watched = calls.get(id)
    calls.delete(id)
    const [cost, savedUsd] = [costOfCall(write), savedOfCall(write)]
    const end = { target, outcome, requestsSent, cost, savedUsd, closing: write }
    if (ended) tell.attempted(ended)
    if (watched) tell.closed(watched, end)
  }

  const writeNext = async (next: Extract<Write, { kind: 'next' }>) => {
    const began = clock.monotonic()
    await write(next)
    const ms = clock.monotonic() - began
    const before = calls.get(next.id)
    const { fallbacks, target } = next
    const watched = before && { ...before, fallbacks, target, requestsSent: next.requestsSent + 1 }
    if (watched) calls.set(next.id, watched)
    tell.recorded(ms)
    tell.attempted(next.ended)
    if (watched && watched.fallbacks > before.fallbacks) tell.fellBack(watched)
    if (watched) tell.changed(watched)
  }

  return {
    open(opening, done) {
      const began = clock.monotonic()
      open(opening, (error) => {
        if (error) return done(error)
        const ms = clock.monotonic() - began
        const { call, route } = opening
        const requestsSent = call.cache === 'HIT' ? 0 : 1
        const watched = { call, route, fallbacks: 0, target: route.candidates[0], requestsSent, ttftMs: null }
        calls.set(call.id, watched)
        tell.recorded(ms)
        tell.opened(watched)
        done(null)
      })
    },
    write(given) {
      const what = maskedUsage(given, mask)
      if (what.kind === 'next') return writeNext(what)
      const written = write(what)
      if (what.kind === 'close') tellEnd(what)
      else if (what.kind === 'streaming') {
        const before = calls.get(what.id)
        if (before) {
          const watched = { ...before, ttftMs: what.ttftMs }
          calls.set(what.id, watched)
          tell.changed(watched)
        }
      }
      return written
    },
  }
}

/** A change of a call, with its current record. */
interface CallEvent {
  readonly id: string
  /** The event as JSON, serialized once for all listeners. */
  readonly json: string
}

export interface Feed extends Observer {
  /** Reports changes to calls of one gateway key or of all keys. Returns a function that stops listening. */
  listen(keyName: string | undefined, hear: (event: CallEvent) => void): () => void
}

export function createFeed(): Feed {
  const listeners = new Map<object, { readonly keyName: string | undefined; hear(event: CallEvent): void }>()
  const tell = (watched: WatchedCall, end?: CallEnd) => {
    const { id, keyName } = watched.call
    if (listeners.size === 0) return
    let event: CallEvent | null = null
    for (const listener of listeners.values()) {
      if (listener.keyName !== undefined && listener.keyName !== keyName) continue
      event ??= { id, json: safeJson(JSON.stringify(feedRecord(watched, end))) }
      listener.hear(event)
    }
  }
  return {
    opened: (watched) => tell(watched),
    changed: (watched) => tell(watched),
    closed: (watched, end) => tell(watched, end),
    listen(keyName, hear) {
      const handle = {}
      listeners.set(handle, { keyName, hear })
      return () => void listeners.delete(handle)
    },
  }
}

const FIELDS = Object.entries<Field<never, never>>(CALL_FIELDS)

/** Returns the current record of a call. Its fields come from the definition in `src/core/record.ts`. */
function feedRecord(watched: WatchedCall, end?: CallEnd): CallRecord {
  const record: Record<string, unknown> = {}
  const closing = end && storable(end.closing)
  for (const [name, field] of FIELDS) {
    const written = field as unknown as {
      open?: (given: unknown) => unknown
      close?: (given: unknown) => unknown
    }
    const value = closing && written.close ? written.close(closing) : written.open?.(watched)
    record[name] = toJson(field, value ?? null)
  }
  // Values of a row that change while the call continues (see `store/sqlite/write-statements.ts`). The field
  // functions do not compute them.
  const { target, fallbacks } = end?.closing ?? watched
  record.resolved_provider = target.provider
  record.resolved_model = target.model
  record.tier = target.tier
  record.fallbacks = fallbacks
  if (end) return record as CallRecord
  record.attempts = watched.requestsSent
  record.ttft_ms = watched.ttftMs
  if (watched.ttftMs !== null) record.state = 'streaming'
  return record as CallRecord
}

/** Recorded token counts. The field `usage` has all other reported values. */
const COUNTS = ['input', 'output', 'cached_input', 'cache_write', 'reasoning', 'source'] as const

const countsOf = (tokens: Partial<RecordTokens> | null): RecordTokens =>
  Object.fromEntries(COUNTS.map((name) => [name, tokens?.[name] ?? null])) as unknown as RecordTokens

function toJson({ kind }: Field, value: unknown): unknown {
  if (kind === 'time') return value === null ? null : new Date(value as number).toISOString()
  if (kind === 'tokens') return countsOf(value as RecordTokens | null)
  if (kind === 'usd') return value === null ? null : roundUsd(value as number)
  return value
}
