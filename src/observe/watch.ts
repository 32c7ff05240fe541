// Observes calls at the one place that all of them pass: the writes to the record. So the observers see
// exactly what is on record. Knows the writes; knows no log and no metric.

import type { Call, CallOutcome, Route, Target } from '../core/call.ts'
import { costOfCall, type KnownCost, savedOfCall } from '../core/record.ts'
import type { Store } from '../store/store.ts'
import type { EndedAttempt, Write } from '../store/writes.ts'

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
  /** Requests that left for a provider. */
  readonly requestsSent: number
  /** As on record. */
  readonly cost: KnownCost
  /** Saved cost of a cache hit; null if unknown or not a hit. */
  readonly savedUsd: number | null
  /** The write that closes a call, see `src/core/record.ts`. */
  readonly closing: Extract<Write, { kind: 'close' }>
}

/** Is notified of every call. */
export interface Observer {
  opened?(watched: WatchedCall): void
  /** Time taken by a write that had to be on disk before bytes left for a provider, ms. */
  recorded?(ms: number): void
  /** An attempt of a call ended. */
  attempted?(ended: EndedAttempt): void
  /** A call moved on to another target. */
  fellBack?(watched: WatchedCall): void
  /** Another attempt of a call is about to be sent, or its response has started. */
  changed?(watched: WatchedCall): void
  closed?(watched: WatchedCall, end: CallEnd): void
}

/**
 * Returns the store's `write` with observers of each write. An observer's exception goes to `onFault` only:
 * observers must never keep the record from being written.
 */
export function watchWrites(
  write: Store['write'],
  observers: readonly Observer[],
  onFault: (error: unknown) => void,
): Store['write'] {
  const open = new Map<string, WatchedCall>()
  const tell = (say: (observer: Observer) => void) => {
    for (const observer of observers) {
      try {
        say(observer)
      } catch (error) {
        onFault(error)
      }
    }
  }
  const tellEnd = (write: Extract<Write, { kind: 'close' }>) => {
    const { id, outcome, requestsSent, target, ended } = write
    const watched = open.get(id)
    open.delete(id)
    const [cost, savedUsd] = [costOfCall(write), savedOfCall(write)]
    const end = { target, outcome, requestsSent, cost, savedUsd, closing: write }
    tell((observer) => {
      if (ended) observer.attempted?.(ended)
      if (watched) observer.closed?.(watched, end)
    })
  }

  const tellWhenWritten = async (what: Extract<Write, { kind: 'open' | 'next' }>) => {
    const began = performance.now()
    await write(what)
    const ms = performance.now() - began
    if (what.kind === 'open') {
      const { call, route } = what
      const requestsSent = call.cache === 'HIT' ? 0 : 1
      const watched = { call, route, fallbacks: 0, target: route.candidates[0], requestsSent, ttftMs: null }
      open.set(call.id, watched)
      tell((observer) => {
        observer.recorded?.(ms)
        observer.opened?.(watched)
      })
    } else {
      const before = open.get(what.id)
      const { fallbacks, target } = what
      const watched = before && { ...before, fallbacks, target, requestsSent: what.requestsSent + 1 }
      if (watched) open.set(what.id, watched)
      tell((observer) => {
        observer.recorded?.(ms)
        observer.attempted?.(what.ended)
        if (watched && watched.fallbacks > before.fallbacks) observer.fellBack?.(watched)
        if (watched) observer.changed?.(watched)
      })
    }
  }

  return (what) => {
    if (what.kind === 'open' || what.kind === 'next') return tellWhenWritten(what)
    const written = write(what)
    if (what.kind === 'close') tellEnd(what)
    else if (what.kind === 'streaming') {
      const before = open.get(what.id)
      if (before) {
        const watched = { ...before, ttftMs: what.ttftMs }
        open.set(what.id, watched)
        tell((observer) => observer.changed?.(watched))
      }
    }
    return written
  }
}
