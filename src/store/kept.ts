// The interfaces of what a gateway keeps if it is asked to: stored responses, the bodies of kept calls, and both as
// rows, whose content is sealed before it arrives here. The part that keeps them (`src/responses-store`) is optional,
// so that others know it only by these. Independent of the database and the key.
import type { ServerResponse } from 'node:http'
import type { Call } from '../core/call.ts'

export interface KeptResponse {
  /** Items of the request, as JSON strings. */
  readonly input: readonly string[]
  /** Items of the answer, as JSON strings. */
  readonly output: readonly string[]
  /** Answer as the client received it, as JSON. */
  readonly answer: string
  /** Provider that also stores the response; null if there is none. */
  readonly keeper: string | null
  /** True if the response has no answer yet or will never have one. Such a response cannot be continued. */
  readonly isUnanswered?: true
  /**
   * Gateway of a fleet that runs the response in the background, start of the run (ms since the epoch), and
   * record of the call.
   */
  readonly run?: { readonly gateway: string; readonly since: number; readonly callId: string }
}

/** Conversation up to a response. */
export interface KeptConversation {
  /** JSON texts. */
  readonly items: readonly string[]
  /** Provider that stores the last response; null if there is none. */
  readonly keeper: string | null
}

/** Memory of the call for which something is read. */
export interface LoadingMemory {
  /** Largest request, bytes. */
  readonly limit: number
  /** Takes memory before it is allocated. Throws if there is none. */
  take(bytes: number): void
}

export interface ResponseStore {
  /** Stores a response. `previous`: id of the previous response. Rejects if the write fails. */
  save(id: string, keyName: string | null, previous: string | null, kept: KeptResponse): Promise<void>
  /**
   * Returns a response; null if this key has none with this id. Throws if it cannot be decrypted. `room`: memory for it,
   * unless the gateway itself needs it.
   */
  find(id: string, keyName: string | null, room?: LoadingMemory): Promise<KeptResponse | null>
  /**
   * Returns a conversation. Null if this key has none, or if its beginning or an answer is missing. Throws if
   * it cannot be decrypted, or if it is larger than a request may be.
   */
  conversation(id: string, keyName: string | null, room: LoadingMemory): Promise<KeptConversation | null>
  /** Removes a response. Returns false if there was none. */
  remove(id: string, keyName: string | null): Promise<boolean>
}

/** A kept call. The bodies are texts as sent. */
export interface KeptCall {
  readonly path: string
  readonly query: string
  /** Headers that are relayed to the provider, without those that may hold a secret. */
  readonly headers: Readonly<Record<string, string>>
  readonly request: string
  readonly status: number
  readonly content_type: string | null
  readonly answer: string
}

interface ReceivedRequest extends Pick<KeptCall, 'path' | 'query' | 'request'> {
  /** Headers that are relayed to the provider, as alternating names and values. */
  readonly forwarded: readonly string[]
}

export interface KeptCalls {
  /** Begins to keep a call that is on record: its request, and all that is written to its client. */
  begin(call: Call, request: ReceivedRequest, response: ServerResponse): Keeping
  /**
   * Returns a call; null if none of this key is kept under this id. Throws if it cannot be decrypted. `room` takes memory
   * before it is allocated.
   */
  find(
    id: string,
    keyName: string | null,
    room: LoadingMemory['take'],
  ): Promise<(KeptCall & { readonly expiresAt: number }) | null>
  /** Returns true if a call is kept, or was until a moment ago. */
  has(id: string, keyName: string | null): Promise<boolean>
  /** Deletes a call. Returns false if it was not kept. */
  remove(id: string, keyName: string | null): Promise<boolean>
}

/** A call that is being kept. */
export interface Keeping {
  /** Called when the call is over: stores it. */
  end(): void
}

export interface KeptRow {
  readonly id: string
  /** Gateway key of the call; empty without keys. */
  readonly keyName: string
  /** The previous response in the conversation. */
  readonly previous: string | null
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  readonly sealed: string
}

export interface KeptRowReads {
  /**
   * Returns a response and its predecessors in the conversation, newest first, at most `most`. Returns none
   * if this key has no response with that id. The chain ends at a response that was deleted or never stored.
   */
  keptChain(id: string, keyName: string, most: number): KeptRow[]
  /** Returns the bytes that `keptChain` would read, without reading them. */
  keptSize(id: string, keyName: string, most: number): number
}

export interface KeptRowWrites {
  /** Rejects if the row cannot be written. */
  keep(row: KeptRow): Promise<void>
  /** Deletes the row and overwrites its bytes. Returns false if there was no row. */
  drop(id: string, keyName: string): Promise<boolean>
}

/**
 * Returns the statement of `keptChain` for a table. The statement's values are: id, key name, key name, most
 * - 1.
 */
export const chainSql = (table: string): string => `${chainOf(table, 'sealed')}
  SELECT id, key_name AS "keyName", previous, expires_at AS "expiresAt", content AS sealed FROM chain ORDER BY depth`

/** Returns the statement of `keptSize` for a table, with the same values. */
export const sizeSql = (table: string): string => `${chainOf(table, 'octet_length(sealed)')}
  SELECT coalesce(sum(content), 0) AS bytes FROM chain`

const chainOf = (table: string, content: string): string => `
  WITH RECURSIVE chain (id, key_name, previous, expires_at, content, depth) AS (
    SELECT id, key_name, previous, expires_at, ${content}, 0 FROM ${table} WHERE id = ? AND key_name = ?
    UNION ALL
    SELECT r.id, r.key_name, r.previous, r.expires_at, ${content.replace('sealed', 'r.sealed')}, depth + 1
      FROM chain JOIN ${table} AS r ON r.id = chain.previous AND r.key_name = ? WHERE depth < ?
  )`

/**
 * Returns the condition for rows that may be deleted at a moment: they have expired, and no later response
 * continues them.
 */
export const expiredSql = (table: string): string => `
  expires_at <= ? AND NOT EXISTS (
    SELECT 1 FROM ${table} AS later WHERE later.previous = ${table}.id AND later.key_name = ${table}.key_name
      AND later.id <> ${table}.id)`
