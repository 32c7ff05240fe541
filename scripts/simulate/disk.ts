// The disk of a simulation. SQLite writes to real files; this file knows each moment at which a process may die between two
// of its writes, takes the files as they are then, and can refuse writes as a full disk does. Leaves out: the order in
// which a file system keeps blocks after a power failure, and damage by other programs.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { databaseFile } from '../../src/store/sqlite/open.ts'

/** Called with the disk at each point at which the process may die. */
type Point = (disk: SimulatedDisk, what: string) => void

/** Ways in which writes fail. `no openings`: the disk has room for the ends of calls, but not for new calls. */
export type DiskTrouble = 'SQLITE_FULL' | 'SQLITE_IOERR' | 'no openings'

export class SimulatedDisk {
  readonly directory: string
  /** Reason why writes fail; null if they do not. */
  refuses: DiskTrouble | null = null
  /** True while the database is not in its place. */
  areGone = false
  readonly #point: Point
  /** The files before the present write, if the process may die within it. */
  before: Files | null = null

  constructor(directory: string, point: Point) {
    this.directory = directory
    this.#point = point
    disks.set(databaseFile(directory), this)
  }

  /** Runs one write of SQLite. */
  write<Result>(what: string, work: () => Result): Result {
    this.#point(this, `before ${what}`)
    const result = work()
    this.#point(this, `after ${what}`)
    this.before = null
    return result
  }

  refuse(isOpening = false): void {
    if (this.refuses === null || (this.refuses === 'no openings' && !isOpening)) return
    if (this.refuses === 'SQLITE_IOERR') throw new Database.SqliteError('disk I/O error', this.refuses)
    throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
  }

  /** Moves the files of the database away from their place, or back. */
  move(areGone: boolean): void {
    if (areGone === this.areGone) return
    this.areGone = areGone
    const [file, elsewhere] = [databaseFile(this.directory), `${this.directory}-moved`]
    const [from, to] = areGone ? [file, elsewhere] : [elsewhere, file]
    for (const end of ['', '-wal', '-shm']) renameSync(from + end, to + end)
  }

  look(): Files {
    const file = databaseFile(this.directory)
    return { database: readFileSync(file), log: readFileSync(`${file}-wal`) }
  }

  /**
   * Copies the files into another directory, as they are if the process dies now. `part`: the part (0 to 1) of the bytes
   * of the present write that have reached the files.
   */
  copy(to: string, part: number): void {
    mkdirSync(to, { mode: 0o700 })
    const [from, file] = [databaseFile(this.directory), databaseFile(to)]
    if (this.before !== null && part < 1) {
      const now = this.look()
      writeFileSync(file, torn(this.before.database, now.database, part))
      writeFileSync(`${file}-wal`, torn(this.before.log, now.log, part))
    } else for (const end of ['', '-wal']) if (existsSync(from + end)) copyFileSync(from + end, file + end)
  }

  forget(): void {
    disks.delete(databaseFile(this.directory))
  }
}

interface Files {
  readonly database: Buffer
  readonly log: Buffer
}

/** Returns a file of whose changed bytes only the first part was written. A database that is checkpointed changes in pages. */
function torn(before: Buffer, after: Buffer, part: number): Buffer {
  if (before.equals(after)) return after
  if (after.length < before.length) return before // a log is cut only when all of it is in the database
  const begin = firstDifference(before, after)
  const end = Math.max(before.length, after.length)
  const until = begin + Math.floor((end - begin) * part)
  return Buffer.concat([after.subarray(0, until), before.subarray(until)])
}

function firstDifference(a: Buffer, b: Buffer): number {
  let [low, high] = [0, Math.min(a.length, b.length)]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (a.subarray(low, middle).equals(b.subarray(low, middle))) low = middle
    else high = middle - 1
  }
  return low
}

const disks = new Map<string, SimulatedDisk>()
const diskOf = (db: Database.Database): SimulatedDisk | undefined =>
  db.readonly ? undefined : disks.get(db.name)

/** Makes all writes of this process pass through their disk. Never ends. */
export function watchDisks(): void {
  const { prototype } = Database as unknown as { prototype: Database.Database }
  const { transaction, prepare, pragma } = prototype
  Object.assign(prototype, {
    transaction(this: Database.Database, work: (...args: unknown[]) => unknown) {
      const db = this
      const inner = transaction.call(db, function (this: unknown, ...args: unknown[]) {
        const result = work.apply(this, args)
        diskOf(db)?.refuse()
        return result
      })
      const through = (run: (...args: unknown[]) => unknown) =>
        function (this: unknown, ...args: unknown[]) {
          const disk = diskOf(db)
          if (!disk || db.inTransaction) return run.apply(this, args)
          return disk.write('a commit', () => run.apply(this, args))
        }
      return Object.assign(through(inner), {
        ...{ immediate: through(inner.immediate), deferred: through(inner.deferred) },
        ...{ exclusive: through(inner.exclusive), default: through(inner), database: db },
      })
    },
    prepare(this: Database.Database, sql: string) {
      const statement = prepare.call(this, sql)
      if (statement.readonly) return statement
      const run = statement.run.bind(statement) as (...args: unknown[]) => Database.RunResult
      const isOpening = /^\s*INSERT INTO call_logs\b/.test(sql)
      statement.run = (...args: unknown[]) => {
        const disk = diskOf(this)
        if (isOpening) disk?.refuse(true)
        if (!disk || this.inTransaction) return run(...args)
        return disk.write('a statement', () => {
          disk.refuse()
          return run(...args)
        })
      }
      return statement
    },
    pragma(this: Database.Database, text: string, options: Database.PragmaOptions) {
      const disk = /checkpoint|incremental_vacuum|user_version *=/.test(text) ? diskOf(this) : undefined
      if (!disk || this.inTransaction) return pragma.call(this, text, options)
      return disk.write(`a ${text.replace(/\W.*/, '')}`, () => pragma.call(this, text, options))
    },
  })
}
