// Responses that the gateway itself keeps, as rows. Their content is sealed before it gets here. Knows no
// database and no key.

export interface KeptRow {
  readonly id: string
  /** Gateway key of the call; empty without keys. */
  readonly keyName: string
  /** Response before it in its conversation. */
  readonly previous: string | null
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  readonly sealed: string
}

export interface KeptRowReads {
  /**
   * Returns a response and those before it in its conversation, the latest first, at most `most`; none if this key
   * has none under that id. It ends where a response was deleted, or was never kept.
   */
  keptChain(id: string, keyName: string, most: number): KeptRow[]
}

export interface KeptRowWrites {
  /** Rejects if it cannot be written. */
  keep(row: KeptRow): Promise<void>
  /** Deletes the row, its bytes included. Returns false if there was none. */
  drop(id: string, keyName: string): Promise<boolean>
}

/** Returns the statement of `keptChain` for a table; its values: id, key name, key name, most - 1. */
export const chainSql = (table: string): string => `
  WITH RECURSIVE chain (id, key_name, previous, expires_at, sealed, depth) AS (
    SELECT id, key_name, previous, expires_at, sealed, 0 FROM ${table} WHERE id = ? AND key_name = ?
    UNION ALL
    SELECT r.id, r.key_name, r.previous, r.expires_at, r.sealed, depth + 1
      FROM chain JOIN ${table} AS r ON r.id = chain.previous AND r.key_name = ? WHERE depth < ?
  )
  SELECT id, key_name AS "keyName", previous, expires_at AS "expiresAt", sealed FROM chain ORDER BY depth`

/** Returns the condition of rows that may be deleted at a moment: expired, and no later response goes on from them. */
export const expiredSql = (table: string): string => `
  expires_at <= ? AND NOT EXISTS (
    SELECT 1 FROM ${table} AS later WHERE later.previous = ${table}.id AND later.key_name = ${table}.key_name
      AND later.id <> ${table}.id)`
