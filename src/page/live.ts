// Live events of calls. The page has one connection, open while a view listens and the page is visible. After
// a gap, listeners must read again. A browser allows six connections to a host, so a hidden page holds none.
import { signal } from '@preact/signals'
import type { CallRecord } from '../core/record.ts'
import { authorization, signedOut } from './who.ts'

export interface Listener {
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
