// A store (`../store.ts`) in its own SQLite database. Writes go to one thread and reads to another, except for a read that
// a call waits for.

import { fstatSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { timeOfId } from '../../call.ts'
import { GatewayError } from '../../errors.ts'
import { ArtifactBuffer } from '../artifact-buffer.ts'
import { DOUBT_MS, guardClock } from '../clock-guard.ts'
import { type Commit, WriteQueue } from '../queue.ts'
import type { CallLogReads } from '../reads.ts'
import { refusedEnd } from '../refused-end.ts'
import { storable } from '../storable.ts'
import type { Journal, StoreOptions } from '../store.ts'
import { openCallLogs } from './call-logs.ts'
import { lostFile, noteFiles, type OpenFiles } from './data-files.ts'
import { claim, databaseFile, isDamage, openPaths, refusal } from './open.ts'
import { closeDescriptors, type Descriptors, openDescriptors } from './overwrites.ts'
import { openReader } from './reads.ts'
import { openSpending } from './spending.ts'
import { startThread, UnansweredError } from './thread.ts'
import type { WriterData, WriterRequest } from './writer.ts'

/** How often it is looked whether something has become too old, ms. */
const EXPIRY_MS = 60_000
const DAY = 86_400_000
/** How often it is looked whether the files are where they were, ms; every batch looks as well. */
const LOOK_MS = 500
/** Artifacts have at most this part of the bytes, whatever their own limit is. */
const MOST_ARTIFACTS = 8

/** Opens the data directory. Rejects with StoreError: one line that says what to do. */
export async function openStore(options: StoreOptions): Promise<Journal> {
  const {
    directory,
    durability,
    retention,
    now,
    elapsed = () => performance.now(),
    onFailure = () => {},
    onDeath = () => {},
    fleet = false,
  } = options
  // Artifacts that could fill the database would drive out the calls.
  const artifacts = {
    ...options.artifacts,
    bytes: Math.min(options.artifacts.bytes, retention.bytes / MOST_ARTIFACTS),
  }
  const { release, interrupted } = claim(directory, now(), fleet)
  const file = databaseFile(directory)
  let main: Database.Database | undefined
  let files: OpenFiles
  let descriptors: Descriptors
  try {
    main = new Database(file, { readonly: true, fileMustExist: true })
    main.pragma('user_version') // with the first read its log is there, and stays while this connection does
    files = noteFiles(openPaths(directory))
    descriptors = openDescriptors(file)
  } catch (cause) {
    main?.close()
    release()
    throw refusal(directory, cause)
  }
  const db = main
  let isOpen = false
  const noteDeath = (reason: string) => {
    if (isOpen) onDeath(reason) // before, it refuses the start
  }
  const writer = startThread(
    'writer',
    { file, files, descriptors, durability, retention, artifacts, fleet } satisfies WriterData,
    noteDeath,
  )
  let damage: string | null = null
  const noteDamage = (error: unknown) => {
    if (damage !== null || !isDamage(error)) return
    damage = (error as Error).message
    onFailure(damage)
    writer.ask({ damaged: damage } satisfies WriterRequest).catch(() => {}) // it refuses everything from now on
  }
  const refuseDamage = () => {
    if (damage !== null) throw new Error(damage)
  }
  const ask = async (request: WriterRequest) => {
    refuseDamage() // a writer that was started again does not know
    try {
      return await writer.ask(request)
    } catch (error) {
      noteDamage(error)
      throw error
    }
  }
  let clock = now
  const expire = () => ask({ expire: clock() - retention.days * DAY })
  try {
    await ask('[]') // answered when the thread is up and has written something
    await ask({ artifacts: [] }) // there may be more than are to be kept from now on
    clock = guardClock({ now, elapsed }, lastSure(openCallLogs(db)))
    await expire()
  } catch (cause) {
    db.close()
    await writer.stop()
    closeDescriptors(descriptors)
    release()
    throw refusal(directory, cause)
  }
  let open = 0
  const queue = new WriteQueue(
    async (batch) => (await ask(JSON.stringify(batch))) as Awaited<ReturnType<Commit>>,
    onFailure,
  )
  const seen = async () => {
    refuseDamage()
    const lost = lostFile(files)
    if (lost !== null) throw new Error(lost)
    await queue.flush()
  }
  const reader = openReader({ file, files }, seen, noteDamage, noteDeath)
  const artifactBuffer = new ArtifactBuffer(artifacts, (artifacts) => ask({ artifacts }))
  const expiry = setInterval(() => expire().catch((error) => onFailure(error.message)), EXPIRY_MS)
  // A gateway without calls, too, says that its files are gone or overwritten, and saves what it can.
  let changedAt = fstatSync(descriptors.database).mtimeMs
  const watch = setInterval(() => {
    if (queue.failure !== null) return
    if (lostFile(files) !== null) return queue.probe()
    const { mtimeMs } = fstatSync(descriptors.database)
    if (mtimeMs !== changedAt) ask({ look: true }).catch(() => {}) // it has been said
    changedAt = mtimeMs
  }, LOOK_MS)
  const spending = openSpending(db)
  isOpen = true

  let closing: Promise<void> | null = null
  async function close(graceMs: number): Promise<void> {
    const deadline = Date.now() + graceMs
    clearInterval(expiry)
    clearInterval(watch)
    // A call whose connection was cut a moment ago is about to write its end.
    while (open > 0 && Date.now() < deadline) await sleep(5)
    // Into files that are gone or damaged nothing will be written any more.
    const isLost = damage !== null || lostFile(files) !== null
    await queue.drain(isLost ? 1 : Math.max(1, deadline - Date.now()))
    await artifactBuffer.drain()
    // The last connection to close takes the write-ahead log with it. One that only reads cannot, and must not where the
    // log does not belong to the database any more.
    const writesOn = damage === null
    if (writesOn) db.close()
    await reader.stop()
    await writer.stop()
    if (!writesOn) db.close()
    closeDescriptors(descriptors)
    release()
  }

  return {
    write(said) {
      const write = storable(said)
      if (write.kind === 'close') open--
      const written = queue.add(write)
      if (write.kind !== 'open') return written
      open++
      return written.catch((error) => {
        open--
        if (error instanceof UnansweredError) void queue.add(refusedEnd(write, now()))
        throw error
      })
    },
    interrupted,
    saveArtifact: (callId, weight, make) => artifactBuffer.add(callId, weight, make),
    calls: {
      ...reader.reads,
      async find(id, keyName) {
        const json = artifactBuffer.find(id) // before the read, or it might be written in between and be in neither
        const found = await reader.reads.find(id, keyName)
        return found && json !== null
          ? { ...found, artifact: { available: true, bytes: Buffer.byteLength(json) } }
          : found
      },
      async artifact(id, keyName) {
        const json = artifactBuffer.find(id)
        const kept = await reader.reads.artifact(id, keyName)
        return kept ?? (json !== null && (await reader.reads.find(id, keyName)) ? json : null)
      },
    },
    spending: {
      spent(keyName, at) {
        try {
          return spending.spent(keyName, at)
        } catch (cause) {
          noteDamage(cause)
          throw new GatewayError(
            'log_unavailable',
            "The call was refused: this key's spending could not be read.",
            { cause },
          )
        }
      },
    },
    settle: seen,
    shipped: async (seq) => void (await ask({ shipped: seq })),
    file,
    get failure() {
      return damage ?? lostFile(files) ?? writer.failure ?? queue.failure
    },
    get readFailure() {
      return damage ?? reader.failure
    },
    close: (graceMs = 5_000) => (closing ??= close(graceMs)),
  }
}

/**
 * When a call was surely made, ms since the epoch; null without calls. Those of the last hour on record may all have been
 * made under a clock that leapt, so it is the newest before them, where there is one.
 */
function lastSure({ list }: CallLogReads): number | null {
  const newest = (until?: number) => {
    const [call] = list({ until }, { limit: 1 }).data
    return call ? timeOfId(call.id) : null
  }
  const last = newest()
  return last === null ? null : (newest(last - DOUBT_MS) ?? last)
}
