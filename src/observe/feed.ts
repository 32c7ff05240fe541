// Live events: each change of a call, as it will be recorded, for all listeners. Costs nothing without
// listeners. Uses the record's definition; independent of HTTP and the database.
import { roundUsd } from '../core/money.ts'
import { CALL_FIELDS, type CallRecord, type Field, type RecordTokens } from '../core/record.ts'
import { storable } from '../store/storable.ts'
import { safeJson } from '../terminal/clean.ts'
import type { CallEnd, Observer, WatchedCall } from './watch.ts'

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
