// Stored responses in the record's database. A deleted response leaves no bytes behind: SQLite overwrites its
// pages. The write-ahead log, which may contain earlier copies of them, is emptied. Runs in the writer
// thread, except for the read.
import type { Database } from 'better-sqlite3'
import { chainSql, expiredSql, type KeptRow, type KeptRowReads, sizeSql } from '../kept.ts'

/** Number of rows deleted in one step. */
const ROWS_A_STEP = 64

export const openKeptReads = (db: Database): KeptRowReads => {
  const chain = db.prepare<[string, string, string, number], KeptRow>(chainSql('kept_responses'))
  const size = db.prepare<[string, string, string, number], number>(sizeSql('kept_responses')).pluck()
  return {
    keptChain: (id, keyName, most) => chain.all(id, keyName, keyName, most - 1),
    keptSize: (id, keyName, most) => size.get(id, keyName, keyName, most - 1)!,
  }
}

interface KeptTable {
  keep(row: KeptRow): void
  /** Deletes a response. Returns false if there was none. */
  drop(id: string, keyName: string): boolean
  /** Deletes responses that had expired at this moment, ms since the epoch. */
  expire(at: number): void
}

/**
 * Opens the table. `most`: maximum bytes, beyond which the oldest responses are deleted. `emptyLog` empties
 * the write-ahead log.
 */
export function openKeptTable(db: Database, most: number, emptyLog: () => void): KeptTable {
  let bytes = db.prepare<[], number>('SELECT coalesce(sum(bytes), 0) FROM kept_responses').pluck().get()!
  const insert = db.prepare(
    `INSERT INTO kept_responses (id, key_name, previous, expires_at, bytes, sealed) VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const remove = (condition: string) =>
    db.prepare<unknown[], { bytes: number }>(`DELETE FROM kept_responses WHERE ${condition} RETURNING bytes`)
  const one = remove('id = ? AND key_name = ?')
  const oldest = remove('rowid IN (SELECT rowid FROM kept_responses ORDER BY rowid LIMIT 1)')
  const expired = remove(
    `rowid IN (SELECT rowid FROM kept_responses WHERE ${expiredSql('kept_responses')} LIMIT ${ROWS_A_STEP})`,
  )

  /** Deletes rows; returns their number. */
  const erase = (statement: typeof one, ...values: unknown[]): number => {
    const gone = statement.all(...values)
    for (const row of gone) bytes -= row.bytes
    return gone.length
  }

  /** Does work that leaves no trace of deleted rows, nor of rows that move to another page when the tree grows. */
  const securely = <Result>(work: () => Result): Result => {
    db.pragma('secure_delete = ON')
    try {
      return work()
    } finally {
      db.pragma('secure_delete = OFF')
    }
  }

  /** Deletes rows beyond the limit; returns their number. */
  const put = db.transaction(({ id, keyName, previous, expiresAt, sealed }: KeptRow): number => {
    let gone = erase(one, id, keyName)
    insert.run(id, keyName, previous, expiresAt, sealed.length, sealed)
    bytes += sealed.length
    while (bytes > most && erase(oldest) > 0) gone++
    return gone
  })

  return {
    keep(row) {
      if (securely(() => put(row)) > 0) emptyLog()
    },
    drop(id, keyName) {
      const gone = securely(() => erase(one, id, keyName))
      if (gone > 0) emptyLog()
      return gone > 0
    },
    expire(at) {
      let gone = 0
      securely(() => {
        for (let some = erase(expired, at); some > 0; some = erase(expired, at)) gone += some
      })
      if (gone > 0) emptyLog()
    },
  }
}
