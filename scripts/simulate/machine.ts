// The machine of a simulation. A clock stands still until it is advanced, and dice have a seed; both replace those of the
// machine in the whole process, packages included, so that one seed is one history. SQLite writes to real files, but this
// file knows each moment at which a process may die between two of its writes, takes the files as they are then, and can
// refuse writes as a full disk does. Leaves out: the order in which a file system keeps blocks after a power failure, and
// damage by other programs.

import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { type Chance, useChance } from '../../src/shared/chance.ts'
import type { Clock, Timer } from '../../src/shared/clock.ts'
import { databaseFile } from '../../src/store/sqlite/open.ts'

/** Dice with a seed (mulberry32). */
export class Dice implements Chance {
  #state: number
  constructor(seed: number) {
    this.#state = Math.imul(seed + 1, 0x9e3779b1) >>> 0
  }

  readonly number = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** Returns a whole number from 0 to `below` - 1. */
  readonly int = (below: number): number => Math.floor(this.number() * below)

  readonly pick = <Value>(values: readonly Value[]): Value => values[this.int(values.length)]!

  /** Picks a value by its weight. */
  weighted<Value>(values: readonly (readonly [value: Value, weight: number])[]): Value {
    let at = this.number() * values.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [value, weight] of values) {
      at -= weight
      if (at < 0) return value
    }
    return values.at(-1)![0]
  }

  readonly bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => this.int(256)))

  readonly uuid = (): ReturnType<Chance['uuid']> => {
    const hex = Array.from({ length: 4 }, () =>
      this.int(2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('')
    const variant = '89ab'[Number.parseInt(hex[16]!, 16) % 4]
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
  }
}

/** Sunday, 1 November 2026, 22:00 UTC: two hours before a new day. */
const START = Date.UTC(2026, 10, 1, 22)

interface Due extends Timer {
  at: number
  readonly work: () => void
}

export class VirtualClock implements Clock {
  #time = 0
  #jumped = 0
  readonly #due = new Set<Due>()

  readonly now = (): number => Math.floor(START + this.#jumped + this.#time)
  readonly monotonic = (): number => START + this.#time
  readonly after = (ms: number, work: () => void): Timer => this.#arm(ms, work, false)
  readonly every = (ms: number, work: () => void): Timer => this.#arm(ms, work, true)

  /** Moves the date, as an administrator does. Timers do not notice. */
  jump(ms: number): void {
    this.#jumped += ms
  }

  /** Lets `ms` pass. Runs the timers that become due, each at its time and with the turns that follow it. */
  async advance(ms: number, turn: () => Promise<unknown>): Promise<void> {
    const end = this.#time + ms
    for (let first = this.#first(end); first; first = this.#first(end)) {
      this.#time = Math.max(this.#time, first.at)
      this.#due.delete(first)
      first.work()
      await turn()
    }
    this.#time = end
  }

  #first(end: number): Due | undefined {
    let first: Due | undefined
    for (const each of this.#due) if (each.at <= end && (!first || each.at < first.at)) first = each
    return first
  }

  #arm(ms: number, work: () => void, isRepeated: boolean): Timer {
    const timer = {
      at: 0,
      work: () => {
        if (isRepeated) timer.refresh()
        work()
      },
      close: () => this.#due.delete(timer),
      refresh: () => {
        timer.at = this.#time + Math.max(1, ms || 0)
        this.#due.delete(timer)
        this.#due.add(timer)
        return timer
      },
      ref: () => timer,
      unref: () => timer,
    }
    timer.refresh()
    return timer
  }
}

/** Gives all code of this process, packages too, this clock and these dice. Never ends. */
export function useSimulated(clock: () => VirtualClock, dice: () => Dice): void {
  const start = (ms: number | undefined, work: (...args: unknown[]) => void, args: unknown[]) =>
    clock().after(ms ?? 0, () => work(...args))
  Object.assign(globalThis, {
    setTimeout: (work: () => void, ms?: number, ...args: unknown[]) => start(ms, work, args),
    setInterval: (work: () => void, ms = 0) => clock().every(ms, work),
    clearTimeout: (timer?: Timer) => timer?.close?.(),
    clearInterval: (timer?: Timer) => timer?.close?.(),
  })
  Date.now = () => clock().now()
  performance.now = () => clock().monotonic() - START
  Math.random = () => dice().number()
  useChance({
    uuid: () => dice().uuid(),
    bytes: (count) => dice().bytes(count),
    number: () => dice().number(),
  })
}

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
