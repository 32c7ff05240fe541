// A store (`../store.ts`) in its own SQLite database. One thread handles writes and another handles reads.
// Exceptions are an opening that `open-here.ts` may commit, and a read that a call waits for.
import Database from 'better-sqlite3'
import { timeOfId } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import { accountName } from '../../core/period.ts'
import type { Chore, NoteChore } from '../../core/upkeep.ts'
import { detached, every, REPORTED, stray } from '../../shared/boundary.ts'
import { clock, sleep, type Timer } from '../../shared/clock.ts'
import { ArtifactBuffer } from '../artifact-buffer.ts'
import { type Commit, type CommitHere, WriteQueue } from '../queue.ts'
import type { CallLogReads, Reads } from '../reads.ts'
import type { Journal, Spent, StoreOptions } from '../store.ts'
import { refusedEnd, storable } from '../writes.ts'
import { openCallLogs } from './call-logs.ts'
import { lostFile, noteFiles, type OpenFiles } from './data-files.ts'
import { startOnMainThread } from './in-line.ts'
import { claim, databaseFile, isDamage, openPaths, refusal } from './open.ts'
import { type Here, openHere } from './open-here.ts'
import { closeDescriptors, openDescriptors } from './overwrites.ts'
import { openReader } from './reads.ts'
import { openSpending } from './spending.ts'
import { startThread, type Thread, UnansweredError } from './thread.ts'
import type { ChoreReport, WriterData, WriterRequest } from './writer.ts'

/** Interval of checks for expired calls, ms. */
const EXPIRY_MS = 60_000
const DAY = 86_400_000
/** Interval of checks that the files are in their places, ms. Every batch also checks this. */
const LOOK_MS = 500
/** Artifacts may use this fraction of all bytes (1 / ARTIFACTS_DIVISOR), regardless of their own limit. */
const ARTIFACTS_DIVISOR = 8

const IGNORE = (): void => {}

/** Opens the data directory. Rejects with StoreError, whose message is one line with the remedy. */
export async function openStore(options: StoreOptions): Promise<Journal> {
  const { directory, durability, retention, fleet = false, threads = true } = options
  const { onFailure = IGNORE, onDeath = IGNORE, onChore = IGNORE, onDoubt = IGNORE } = options
  const artifacts = bounded(options)
  const { release, interrupted, background } = claim(directory, clock.now(), fleet)
  const file = databaseFile(directory)
  const { db, files, descriptors } = openDatabase(directory, release)
  let isOpen = false
  const noteDeath = (reason: string) => {
    if (isOpen) onDeath(reason) // before the store is open, the start is refused instead
  }
  const start = threads ? startThread : startOnMainThread
  const writer = start(
    'writer',
    { file, files, descriptors, durability, retention, artifacts, fleet } satisfies WriterData,
    noteDeath,
  )
  const known = new Map<string, Spent>()
  const asking = askUnlessDamaged(writer, onFailure, () => known.clear())
  const { ask, noteDamage } = asking
  let sureNow = clock.now
  let here: Here | null = null
  const expire = () => ask({ expire: sureNow() - retention.days * DAY, now: sureNow() })
  try {
    await ask('[]') // answered once the thread has started and has written something
    await ask({ artifacts: [] }) // the ring may hold more than the current limit allows
    sureNow = guardClock(lastSure(openCallLogs(db)))
    await expire()
    // A full sync would delay all streams. A fleet's calls also go to the shared log.
    if (durability === 'process' && !fleet) here = openHere(file, files, descriptors)
  } catch (cause) {
    db.close()
    await writer.stop()
    closeDescriptors(descriptors)
    release()
    throw refusal(directory, cause)
  }
  const commitHere: CommitHere = (openings) =>
    here && asking.damage === null && writer.failure === null ? here.commit(openings) : 'not possible'
  const queue = new WriteQueue(committing(ask), onFailure, commitHere, onDoubt)
  const seen = async () => {
    asking.refuseDamage()
    refuseLost(files)
    await queue.flush()
  }
  const reader = openReader({ file, files }, start, seen, noteDamage, noteDeath)
  const artifactBuffer = bufferArtifacts(artifacts, ask, onChore)
  const expiry = every(EXPIRY_MS, expire, (error) => {
    onChore('delete_calls', error.message)
    return REPORTED
  })
  const watch = watchFiles(files, queue, ask, onChore)
  const { open, write, openCalls } = writeTo(queue)
  isOpen = true

  let closing: Promise<void> | null = null
  async function close(graceMs: number): Promise<void> {
    const deadline = clock.monotonic() + graceMs
    expiry.close()
    watch.close()
    // A call whose connection was just cut still writes its end.
    while (openCalls() > 0 && clock.monotonic() < deadline) await sleep(5)
    // Nothing is written into missing or damaged files.
    const isLost = asking.damage !== null || lostFile(files) !== null
    await queue.drain(isLost ? 1 : Math.max(1, deadline - clock.monotonic()))
    await artifactBuffer.drain()
    here?.close()
    // The last connection to close removes the write-ahead log. A read-only connection cannot, and it must
    // not if the log no longer belongs to the database.
    const writesOn = asking.damage === null
    if (writesOn) db.close()
    await reader.stop()
    await writer.stop()
    if (!writesOn) db.close()
    closeDescriptors(descriptors)
    release()
  }

  return {
    ...{ open, write, interrupted, background, openings: queue.openings },
    saveArtifact: (callId, weight, make) => artifactBuffer.add(callId, weight, make),
    calls: withBuffered(reader.reads, artifactBuffer),
    spending: readSpending(db, known, noteDamage),
    kept: keepThrough(ask),
    settle: seen,
    shipped: dropShipped(ask, onChore),
    file,
    get failure() {
      return asking.damage ?? lostFile(files) ?? writer.failure ?? queue.failure
    },
    get readFailure() {
      return asking.damage ?? reader.failure
    },
    close: (graceMs = 5_000) => (closing ??= close(graceMs)),
  }
}

/** Makes the function that drops what the shared log has received from the outbox. */
const dropShipped =
  (ask: (request: WriterRequest) => Promise<unknown>, onChore: NoteChore): Journal['shipped'] =>
  (seq) =>
    ask({ shipped: seq }).then(
      () => onChore('drop_shipped', null),
      (error: Error) => onChore('drop_shipped', error.message),
    )

const bufferArtifacts = (
  limits: StoreOptions['artifacts'],
  ask: (request: WriterRequest) => Promise<unknown>,
  onChore: NoteChore,
): ArtifactBuffer =>
  new ArtifactBuffer(
    limits,
    (artifacts) => ask({ artifacts }),
    (reason) => onChore('store_artifacts', reason),
  )

function keepThrough(ask: (request: WriterRequest) => Promise<unknown>): Journal['kept'] {
  const written = (request: WriterRequest) =>
    ask(request).catch((cause) => {
      throw new GatewayError('log_unavailable', 'What is kept cannot be written; the process log says why.', {
        cause,
      })
    })
  return {
    keep: async (row) => void (await written({ keep: row })),
    drop: async (id, keyName) => (await written({ drop: [id, keyName] })) as boolean,
  }
}

/** Hands batches to the writer thread. */
const committing =
  (ask: (request: WriterRequest) => Promise<unknown>): Commit =>
  async (batch) =>
    (await ask(JSON.stringify(batch))) as Awaited<ReturnType<Commit>>

function refuseLost(files: OpenFiles): void {
  const lost = lostFile(files)
  if (lost !== null) throw new Error(lost)
}

/** Bounds the bytes of artifacts, which could otherwise fill the database and displace calls. */
const bounded = ({ artifacts, retention }: StoreOptions): StoreOptions['artifacts'] => ({
  ...artifacts,
  bytes: Math.min(artifacts.bytes, retention.bytes / ARTIFACTS_DIVISOR),
})

/**
 * Watches the files. Even without calls, it reports missing or overwritten files and saves as much as it can. Also
 * reports the ends of chores.
 */
const watchFiles = (
  files: OpenFiles,
  queue: WriteQueue,
  ask: (request: WriterRequest) => Promise<unknown>,
  onChore: NoteChore,
): Timer =>
  every(
    LOOK_MS,
    () => {
      if (queue.failure !== null) return
      if (lostFile(files) !== null) return queue.probe()
      ask({ look: true }).then(
        (report) => {
          for (const [chore, reason] of Object.entries(report as ChoreReport)) onChore(chore as Chore, reason)
        },
        () => {}, // already reported
      )
    },
    stray,
  )

/** Opens the database for reads that a call waits for. If that fails, unlocks the directory. */
function openDatabase(directory: string, release: () => void) {
  const file = databaseFile(directory)
  let db: Database.Database | undefined
  try {
    db = new Database(file, { readonly: true, fileMustExist: true })
    db.pragma('user_version') // the first read creates the write-ahead log, which stays while this connection is open
    return { db, files: noteFiles(openPaths(directory)), descriptors: openDescriptors(file) }
  } catch (cause) {
    db?.close()
    release()
    throw refusal(directory, cause)
  }
}

/**
 * Makes the function that sends requests to the writer thread, until the database proves to be damaged. Calls `onAnswer`
 * after each of them, because it may have changed the record.
 */
function askUnlessDamaged(
  writer: Pick<Thread, 'ask'>,
  onFailure: (reason: string) => void,
  onAnswer: () => void,
) {
  let damage: string | null = null
  const noteDamage = (error: unknown) => {
    if (damage !== null || !isDamage(error)) return
    damage = (error as Error).message
    onFailure(damage)
    writer.ask({ damaged: damage } satisfies WriterRequest).catch(() => {}) // refuses all requests from now on
  }
  const refuseDamage = () => {
    if (damage !== null) throw new Error(damage)
  }
  return {
    get damage() {
      return damage
    },
    noteDamage,
    refuseDamage,
    async ask(request: WriterRequest) {
      refuseDamage() // a restarted writer does not know about it
      try {
        return await writer.ask(request)
      } catch (error) {
        noteDamage(error)
        throw error
      } finally {
        onAnswer()
      }
    },
  }
}

/** Makes the `open` and `write` of a store, which count open calls. */
function writeTo(queue: WriteQueue) {
  const openCalls = new Set<string>()
  const write: Journal['write'] = (write) => {
    const staysOpen = write.kind === 'background' || (write.kind === 'streaming' && write.staysOpen)
    if (write.kind === 'close' || staysOpen) openCalls.delete(write.id)
    return queue.add(storable(write))
  }
  const open: Journal['open'] = (opening, done) => {
    openCalls.add(opening.call.id)
    queue.open(opening, (error) => {
      if (error) openCalls.delete(opening.call.id)
      if (error instanceof UnansweredError) detached(queue.add(refusedEnd(opening, clock.now())), stray)
      done(error)
    })
  }
  return { open, write, openCalls: () => openCalls.size }
}

/** Makes reads include artifacts that are not written yet. */
const withBuffered = (reads: Reads, buffer: ArtifactBuffer): Reads => ({
  ...reads,
  async find(id, keyName) {
    const json = buffer.find(id) // looked up before the read; otherwise an artifact written in between would be missed
    const found = await reads.find(id, keyName)
    return found && json !== null
      ? { ...found, artifact: { available: true, bytes: Buffer.byteLength(json) } }
      : found
  },
  async artifact(id, keyName) {
    const json = buffer.find(id)
    const kept = await reads.artifact(id, keyName)
    return kept ?? (json !== null && (await reads.find(id, keyName)) ? json : null)
  },
})

/** `known`: sums that were read since the last write, which alone changes them. */
function readSpending(
  db: Database.Database,
  known: Map<string, Spent>,
  noteDamage: (error: unknown) => void,
): Journal['spending'] {
  const spending = openSpending(db)
  return {
    spent(account) {
      const name = accountName(account)
      try {
        const spent = known.get(name) ?? spending.spent(account)
        known.set(name, spent)
        return spent
      } catch (cause) {
        noteDamage(cause)
        throw new GatewayError(
          'log_unavailable',
          "The call was refused: this key's spending could not be read.",
          { cause },
        )
      }
    },
  }
}

/**
 * Returns a time at which a call was certainly made, ms since the epoch; null without calls. A clock error
 * may affect all calls of the last recorded hour. The newest call before that hour therefore counts, if there
 * is one.
 */
function lastSure({ list }: CallLogReads): number | null {
  const newest = (until?: number) => {
    const [call] = list({ until }, { limit: 1 }).data
    return call ? timeOfId(call.id) : null
  }
  const last = newest()
  return last === null ? null : (newest(last - DOUBT_MS) ?? last)
}

const HOUR = 3_600_000
/** Maximum lead over the expected time, ms. */
const LEAP_MS = 24 * HOUR
/**
 * Time for which a larger lead is doubted, ms. Mistakes are corrected by then; after sleep, deletion can
 * wait.
 */
const DOUBT_MS = HOUR

/**
 * Returns the clock for deleting old calls, in ms since the epoch. A clock set a year ahead by mistake would delete the whole
 * log, so a jump is accepted only if it lasts. `last`: the time of the last event known to be correct, or null.
 */
function guardClock(last: number | null): () => number {
  let believed = last ?? clock.now()
  let since = clock.monotonic()
  let doubtedSince: number | null = null
  return () => {
    const said = clock.now()
    const at = clock.monotonic()
    const expected = believed + (at - since)
    if (said - expected > LEAP_MS) {
      doubtedSince ??= at
      if (at - doubtedSince < DOUBT_MS) return expected
    }
    doubtedSince = null
    believed = said
    since = at
    return said
  }
}
