// Live events of calls, and lists of calls that stay current with them. The page has one connection, open while a view
// listens and the page is visible. After a gap, listeners must read again. A browser allows six connections to a host, so a
// hidden page holds none. Knows no markup.
import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { CallRecord } from '../core/record.ts'
import { authorization, signedOut } from './sign-in.tsx'

interface Listener {
  call(record: CallRecord): void
  /** Reports missed events, so the shown data may be old. */
  missed(): void
}

export const connection = signal<'off' | 'on' | 'lost'>('off')

/**
 * True if other gateways share the log. Then lists are read every `OTHERS_MS`, because the other gateways'
 * calls send no events.
 */
export const hasOthers = signal(false)
export const OTHERS_MS = 3_000

const listeners = new Set<Listener>()
let open: AbortController | null = null
let again: ReturnType<typeof setTimeout> | undefined
let tries = 0
let wasOpen = false

/** Listens until the returned function is called. */
export function subscribe(listener: Listener): () => void {
  listeners.add(listener)
  adjust()
  return () => {
    listeners.delete(listener)
    // The next view may also listen; its effect runs shortly after this one ends.
    setTimeout(adjust, 50)
  }
}

function adjust(): void {
  const wanted = listeners.size > 0 && !document.hidden
  if (wanted && !open) void connect()
  else if (!wanted && open) {
    open.abort()
    open = null
    connection.value = 'off'
  }
}
document.addEventListener('visibilitychange', adjust)

async function connect(): Promise<void> {
  clearTimeout(again)
  const stop = new AbortController()
  open = stop
  try {
    const response = await fetch('/api/usage/live', { headers: authorization(), signal: stop.signal })
    if (response.status === 401) signedOut()
    if (!response.ok || !response.body) throw new Error(String(response.status))
    connection.value = 'on'
    tries = 0
    if (wasOpen) for (const each of listeners) each.missed()
    wasOpen = true
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      // The gateway writes each event in the same form: a name, one line of data, and an empty line.
      const events = (text + part.value).split('\n\n')
      text = events.pop()!
      for (const event of events) hear(event)
    }
  } catch {
    // The connection ended or never began; the code below retries.
  }
  if (open !== stop) return
  open = null
  connection.value = 'lost'
  again = setTimeout(adjust, Math.min(15_000, 500 * 2 ** tries++))
}

function hear(event: string): void {
  const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? []
  if (name === 'lost') for (const each of listeners) each.missed()
  if (name !== 'call') return
  const record = JSON.parse(data!) as CallRecord
  for (const each of listeners) each.call(record)
}

/**
 * A list that merges the read list with live events. New calls wait while the reader's pointer or focus is in the list, so
 * that nothing moves under the pointer. Bounded.
 */
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
