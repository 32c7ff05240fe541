// A list of calls that stays current by merging the read list with live events. New calls wait while the
// reader's pointer or focus is in the list, so that nothing moves under the pointer. Bounded; knows no
// markup.
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { CallRecord } from '../core/record.ts'
import { hasOthers, OTHERS_MS, subscribe } from './live.ts'

interface LiveList {
  readonly rows: readonly CallRecord[]
  /** Number of new calls that wait to be shown. */
  readonly waiting: number
  /** Adds the waiting calls to the list. */
  show(): void
}

/** Interval at which live events are drawn, ms. */
const DRAW_MS = 250

const NONE: ReadonlyMap<string, CallRecord> = new Map()

interface LiveOptions {
  /** The read list, newest first; null until it has loaded. */
  readonly read: readonly CallRecord[] | null
  /** True if the read list belongs to the current filter. Until then, live events are not added. */
  readonly isFresh: boolean
  readonly most: number
  /** True if new calls may be added to the list. Calls already in it are updated in any case. */
  readonly takesNew: boolean
  readonly matches: (record: CallRecord) => boolean
  /** Returns true while the reader is using the list. */
  readonly isHeld: () => boolean
  readonly missed: () => void
}

export function useLiveList(options: LiveOptions): LiveList {
  const { read, isFresh, most } = options
  const now = useRef(options)
  now.current = options
  const heard = useRef(new Map<string, CallRecord>())
  const waiting = useRef(new Map<string, CallRecord>())
  const rows = useSignal<readonly CallRecord[]>(read ?? [])
  const count = useSignal(0)
  const mergedRead = useRef(read)

  // Events that arrived during the read may be newer than the read list.
  useEffect(() => {
    if (!read || !isFresh) return
    waiting.current.clear()
    count.value = 0
    const newest = now.current.takesNew ? heard.current : new Map<string, CallRecord>()
    rows.value = merged(read, newest, heard.current, now.current)
    heard.current = new Map()
    mergedRead.current = read
  }, [read, isFresh])

  const draw = (isShown: boolean) => {
    const { takesNew, matches, isHeld } = now.current
    const known = new Set(rows.value.map(({ id }) => id))
    const news = takesNew ? [...heard.current.values()].filter(({ id }) => !known.has(id)) : []
    for (const record of news) {
      if (matches(record)) waiting.current.set(record.id, record)
      else waiting.current.delete(record.id)
      if (waiting.current.size > most) waiting.current.delete(waiting.current.keys().next().value!)
    }
    const taken = isShown || !isHeld() ? waiting.current : new Map<string, CallRecord>()
    if (taken.size > 0 || news.length < heard.current.size)
      rows.value = merged(rows.value, taken, heard.current, now.current)
    if (taken.size > 0) waiting.current = new Map()
    heard.current = new Map()
    count.value = waiting.current.size
  }

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = subscribe({
      call(record) {
        heard.current.set(record.id, record)
        if (heard.current.size > 4 * most) heard.current.delete(heard.current.keys().next().value!)
        timer ??= setTimeout(() => {
          timer = undefined
          if (now.current.isFresh) draw(false)
        }, DRAW_MS)
      },
      missed: () => now.current.missed(),
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [])

  useEffect(() => {
    if (!hasOthers.value) return
    const timer = setInterval(() => {
      const { takesNew, isHeld, missed } = now.current
      if (takesNew && !isHeld() && !document.hidden) missed()
    }, OTHERS_MS)
    return () => clearInterval(timer)
  }, [hasOthers.value])

  // Shows the read list immediately, so that no empty list flashes up before the merge.
  const isMerged = !read || !isFresh || mergedRead.current === read
  const live = rows.value // always read, because a signal that is not read does not redraw on change
  const shown = isMerged ? live : merged(read, NONE, NONE, options)
  return { rows: shown, waiting: count.value, show: () => draw(true) }
}

/**
 * Returns `old` with `added`, newest first. Each call is in its latest state, and calls that no longer match
 * are left out.
 */
function merged(
  old: readonly CallRecord[],
  added: ReadonlyMap<string, CallRecord>,
  heard: ReadonlyMap<string, CallRecord>,
  { matches, most }: LiveOptions,
): readonly CallRecord[] {
  const known = new Set(old.map(({ id }) => id))
  const more = [...added.values()].filter(({ id }) => !known.has(id))
  const newest = (record: CallRecord) => {
    const other = heard.get(record.id)
    return other && (record.completed_at === null || other.completed_at !== null) ? other : record
  }
  return [...more, ...old]
    .map(newest)
    .filter(matches)
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, most)
}
