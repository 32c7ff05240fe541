// What happens to calls, seen from the one place that all of it passes: the writes to the record. So whatever is
// on record is observed, and nothing else. Knows the writes; knows no log and no metric.

import type { Call, CallOutcome, Route, Target } from '../call.ts'
import { costOfCall, savedOfCall } from '../record.ts'
import type { Store } from '../store/store.ts'
import type { EndedAttempt, Write } from '../store/writes.ts'

/** A call that is on record. */
export interface WatchedCall {
  readonly call: Call
  readonly route: Route
  /** Changes of target so far. */
  readonly fallbacks: number
}

/** How it ended. */
export interface CallEnd {
  readonly target: Pick<Target, 'provider' | 'model'>
  readonly outcome: CallOutcome
  /** Requests that left for a provider. */
  readonly requestsSent: number
  /** US dollars, null when it is not known: as it goes into the record. */
  readonly costUsd: number | null
  /** What a cache hit would have cost; null where it is not known, or was none. */
  readonly savedUsd: number | null
}

/** Hears of every call. */
export interface Observer {
  opened?(watched: WatchedCall): void
  /** A write that had to be on disk before bytes left for a provider took this long, ms. */
  recorded?(ms: number): void
  /** An attempt of a call ended. */
  attempted?(ended: EndedAttempt): void
  /** A call moved on to another target. */
  fellBack?(watched: WatchedCall): void
  closed?(watched: WatchedCall, end: CallEnd): void
}

/**
 * The store's `write`, with observers that hear what is written. What an observer throws goes to `onFault` and no
 * further: nothing that watches the record may keep it from being written.
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
    const end = { target, outcome, requestsSent, costUsd: costOfCall(write), savedUsd: savedOfCall(write) }
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
      const watched = { call: what.call, route: what.route, fallbacks: 0 }
      open.set(what.call.id, watched)
      tell((observer) => {
        observer.recorded?.(ms)
        observer.opened?.(watched)
      })
    } else {
      const before = open.get(what.id)
      const watched = before && { ...before, fallbacks: what.fallbacks }
      if (watched) open.set(what.id, watched)
      tell((observer) => {
        observer.recorded?.(ms)
        observer.attempted?.(what.ended)
        if (watched && watched.fallbacks > before.fallbacks) observer.fellBack?.(watched)
      })
    }
  }

  return (what) => {
    if (what.kind === 'open' || what.kind === 'next') return tellWhenWritten(what)
    const written = write(what)
    if (what.kind === 'close') tellEnd(what)
    return written
  }
}
