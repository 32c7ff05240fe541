// Reports that the configuration should be reloaded because its file has changed. Watches the file by its
// name, so an editor may write into it or replace it, and a link may be moved.
import { type Stats, statSync, unwatchFile, watchFile } from 'node:fs'

/**
 * Interval of checks, ms. File system notifications are not used: in a container the file is next to the
 * database, whose writes would all cause notifications.
 */
const LOOK_MS = 1_000
/** Time to wait after a change, ms, because its writer may not be done. */
const SETTLE_MS = 200

/** Returns the present state of a file; null if it cannot be read. */
export function stateOf(file: string): Stats | null {
  try {
    return statSync(file)
  } catch {
    return null
  }
}

export interface Watch {
  /**
   * State of the file before the configuration was read, so that a later change counts. Default: its present
   * state.
   */
  readonly since?: Stats | null
  /** Interval of checks, ms. */
  readonly look?: number
  /** Time to wait after a change, ms. */
  readonly settle?: number
  /** Called once with a message if another file has replaced this one and cannot be seen from here. */
  readonly lost?: (message: string) => void
}

/** Calls `changed` after every change that has settled. Returns a function that stops the watch. */
export function watchConfig(
  file: string,
  changed: () => void,
  { since = stateOf(file), look = LOOK_MS, settle = SETTLE_MS, lost = () => {} }: Watch = {},
): () => void {
  let settling: NodeJS.Timeout | undefined
  const soon = (now: Stats, before: Stats) => {
    // A file that a container mounts separately remains after it is replaced outside, but has no name left.
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
  // The watch compares with the state at its own first check, which on a busy machine may follow a change.
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
