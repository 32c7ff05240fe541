// Observes calls at the single place that all calls pass: the writes to the record. Observers therefore see
// exactly the recorded values. Independent of logs and metrics.

import type { Call, CallOutcome, Route, Target } from '../core/call.ts'
import { costOfCall, type KnownCost, savedOfCall } from '../core/record.ts'
import { clock } from '../shared/clock.ts'
import type { Mask } from '../shared/redact.ts'
import type { Store } from '../store/store.ts'
import { type EndedAttempt, maskedUsage, type Write } from '../store/writes.ts'

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
