// What happens to calls, seen from the one place that all of it passes: the writes to the record. So whatever is
// on record is observed, and nothing else. Knows the writes and the prices; knows no log and no metric.
import type { Call, Outcome, Route, Target } from '../call.ts'
import type { Pricer } from '../pricing.ts'
import type { Store } from '../store/store.ts'
import type { EndedAttempt } from '../store/writes.ts'

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
  readonly outcome: Outcome
  /** Requests that left for a provider. */
  readonly sent: number
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

/** The store's `write`, with observers that hear what is written. `price` is asked anew for each call's end. */
export function watchWrites(
  write: Store['write'],
  price: () => Pricer,
  observers: readonly Observer[],
): Store['write'] {
  const open = new Map<string, WatchedCall>()

  return async (what) => {
    const began = performance.now()
    if (what.kind === 'close') {
      const watched = open.get(what.id)
      open.delete(what.id)
      const { outcome, sent, target, ended, at } = what
      // The same sums as in `store/writes.ts`: an attempt that was refused cost nothing, and neither does a cache hit.
      const usd = outcome.tokens && price()(target, ended ? ended.tokens : outcome.tokens, at).usd
      const end = { target, outcome, sent, costUsd: ended ? usd : 0, savedUsd: ended ? null : usd }
      for (const observer of observers) {
        if (ended) observer.attempted?.(ended)
        if (watched) observer.closed?.(watched, end)
      }
    }
    await write(what)
    if (what.kind === 'open') {
      const watched = { call: what.call, route: what.route, fallbacks: 0 }
      open.set(what.call.id, watched)
      for (const observer of observers) {
        observer.recorded?.(performance.now() - began)
        observer.opened?.(watched)
      }
    } else if (what.kind === 'next') {
      const before = open.get(what.id)
      const watched = before && { ...before, fallbacks: what.fallbacks }
      if (watched) open.set(what.id, watched)
      for (const observer of observers) {
        observer.recorded?.(performance.now() - began)
        observer.attempted?.(what.ended)
        if (watched && watched.fallbacks > before.fallbacks) observer.fellBack?.(watched)
      }
    }
  }
}
