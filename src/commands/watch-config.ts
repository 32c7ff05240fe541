// Tells when the configuration should be read again: its file was changed, or the process got SIGHUP. Watches the file
// by its name, so it does not matter whether an editor writes into it, replaces it, or a link is moved.
import { type Stats, statSync, unwatchFile, watchFile } from 'node:fs'

/** How often the file is looked at, ms. Not by notification: in a container it lies beside the database, whose writes
 * would all be notified too. */
const LOOK_MS = 1_000
/** A file that was changed is left alone for this long, because whoever writes it may not be done, ms. */
const SETTLE_MS = 200

/** What a file is at this moment; null where it cannot be seen. */
export function stateOf(file: string): Stats | null {
  try {
    return statSync(file)
  } catch {
    return null
  }
}

export interface Watch {
  /** What the file was before the configuration was read: a change since then counts. Default: what it is now. */
  readonly since?: Stats | null
  /** How often the file is looked at, ms. */
  readonly look?: number
  /** How long a change is left alone, ms. */
  readonly settle?: number
  /** Is told once, in words, where another file has taken this one's place and cannot be seen from here. */
  readonly lost?: (message: string) => void
}

/** Calls `changed` on every change that has settled and on SIGHUP. Returns how to stop. */
export function watchConfig(
  file: string,
  changed: () => void,
  { since = stateOf(file), look = LOOK_MS, settle = SETTLE_MS, lost = () => {} }: Watch = {},
): () => void {
  let settling: NodeJS.Timeout | undefined
  const soon = (now: Stats, before: Stats) => {
    // A file that a container has mounted by itself stays there when it is replaced outside; it only has no name left.
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
  // It compares with what it finds at its own first look, which on a busy machine may come after a change.
  const first = setTimeout(() => {
    const now = stateOf(file)
    if (since && now && !isSame(now, since)) soon(now, since)
  }, look).unref()
  process.on('SIGHUP', changed)
  return () => {
    clearTimeout(first)
    clearTimeout(settling)
    unwatchFile(file, soon)
    process.off('SIGHUP', changed)
  }
}

const isSame = (one: Stats, other: Stats): boolean =>
  one.mtimeMs === other.mtimeMs && one.size === other.size && one.ino === other.ino
