// Reports when the configuration should be read again because its file has changed. Watches the file by its
// name, so an editor may write into it or replace it, and a link may be moved.
import { type Stats, statSync, unwatchFile, watchFile } from 'node:fs'

/**
 * Interval of checks, ms. Not by notification: in a container the file lies beside the database, whose writes
 * would all cause notifications.
 */
const LOOK_MS = 1_000
/** Time for which a changed file is left alone, because its writer may not be done, ms. */
const SETTLE_MS = 200

/** Returns the present state of a file; null if it cannot be seen. */
export function stateOf(file: string): Stats | null {
  try {
    return statSync(file)
  } catch {
    return null
  }
}

export interface Watch {
  /** State of the file before the configuration was read: a later change counts. Default: its state now. */
  readonly since?: Stats | null
  /** Interval of checks, ms. */
  readonly look?: number
  /** Time for which a change is left alone, ms. */
  readonly settle?: number
  /** Called once, with a message, if another file has taken this one's place and cannot be seen from here. */
  readonly lost?: (message: string) => void
}

/** Calls `changed` on every change that has settled. Returns a function that stops it. */
export function watchConfig(
  file: string,
  changed: () => void,
  { since = stateOf(file), look = LOOK_MS, settle = SETTLE_MS, lost = () => {} }: Watch = {},
): () => void {
  let settling: NodeJS.Timeout | undefined
  const soon = (now: Stats, before: Stats) => {
    // A file that a container has mounted by itself stays when it is replaced outside, but has no name left.
    if (now.nlink === 0 && now.ino !== 0) {
      if (before.nlink !== 0)
        lost(
          `${file} was replaced, but this process still sees the old file: mount its directory instead of the file, and start again`,
        )
      return
    }
    if (isSame(now, before)) return
    clearTimeout(settling)
    settling = setTimeout(changed, settle)
  }
  watchFile(file, { interval: look, persistent: false }, soon)
  // It compares with the state at its own first check, which on a busy machine may come after a change.
  const first = setTimeout(() => {
    const now = stateOf(file)
    if (since && now && !isSame(now, since)) soon(now, since)
  }, look).unref()
  return () => {
    clearTimeout(first)
    clearTimeout(settling)
    unwatchFile(file, soon)
  }
}

const isSame = (one: Stats, other: Stats): boolean =>
  one.mtimeMs === other.mtimeMs && one.size === other.size && one.ino === other.ino
