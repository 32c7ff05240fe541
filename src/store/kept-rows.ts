// Responses that the gateway itself stores, as rows. Their content is sealed before it arrives here.
// Independent of the database and the key.

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
