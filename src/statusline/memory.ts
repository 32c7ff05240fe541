// A cache of each session's last line in a private directory, used when the gateway does not answer. Contains
// no key and no prompt. If the process is killed, either the old file or the new one remains, never a part of
// one (LINE-12).
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isObject } from './client-input.ts'

/** Cache key of a line: the gateway's address, the session, the model, and the line's appearance. */
type Subject = readonly (string | null)[]

export interface Memory {
  /** Returns the line of a cache key and the start of its age (ms since the epoch), or null. Never throws. */
  recall(subject: Subject): { aged: string; at: number } | null
  /** Writes the line if it is new. Throws if the directory is not private or cannot be written. */
  keep(subject: Subject, aged: string, at: number): void
}

type Env = Readonly<Record<string, string | undefined>>

const FORGOTTEN_AFTER_MS = 7 * 86_400_000

/** Opens a cache in `directory`. The first write creates it with mode 0700. */
export function openMemory(directory: string): Memory {
  const fileOf = (subject: Subject) => join(directory, `${fingerprint(subject)}.json`)
  return {
    recall(subject) {
      try {
        refuseUnlessPrivate(directory)
        const kept: unknown = JSON.parse(readFileSync(fileOf(subject), 'utf8'))
        if (!isObject(kept) || JSON.stringify(kept.subject) !== JSON.stringify(subject)) return null
        const { aged, at } = kept
        return typeof aged === 'string' && typeof at === 'number' ? { aged, at } : null
      } catch {
        return null
      }
    },
    keep(subject, aged, at) {
      const file = fileOf(subject)
      const text = JSON.stringify({ subject, aged, at })
      const known = existsSync(file) ? readFileSync(file, 'utf8') : null
      if (known === text) return
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      refuseUnlessPrivate(directory)
      const part = `${file}.${process.pid}.part`
      writeFileSync(part, text, { flag: 'wx', mode: 0o600 })
      renameSync(part, file)
      if (known === null) forget(directory)
    },
  }
}

/** Returns `$XDG_CACHE_HOME/waybill`, or `~/.cache/waybill` if it is not set. */
export function memoryDirectory(env: Env): string {
  const home = () => env.HOME || process.getBuiltinModule('node:os').homedir()
  return join(env.XDG_CACHE_HOME || join(home(), '.cache'), 'waybill', 'statusline')
}

function refuseUnlessPrivate(directory: string): void {
  if (process.getuid === undefined) return
  const { mode, uid } = lstatSync(directory) // a symbolic link is refused because its mode is 0777
  if (uid !== process.getuid() || (mode & 0o077) !== 0)
    throw new Error(`${directory} is not private; nothing is kept there`)
}

/** Removes the files of ended sessions and killed processes. */
function forget(directory: string): void {
  const before = Date.now() - FORGOTTEN_AFTER_MS
  for (const name of readdirSync(directory)) {
    const file = join(directory, name)
    const { mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs !== undefined && mtimeMs < before) rmSync(file, { force: true })
  }
}

/**
 * Returns a short file name: FNV-1a, 32 bits. The subject is in the file, so the hash need not be strong; a
 * cryptographic hash would add 4 ms to the start.
 */
function fingerprint(subject: Subject): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(JSON.stringify(subject))) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}
