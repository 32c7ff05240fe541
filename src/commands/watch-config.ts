// Tells when the configuration should be read again: its file was changed, or the process got SIGHUP. Watches the file
// by its name, so it does not matter whether an editor writes into it, replaces it, or a link is moved.
import { type Stats, unwatchFile, watchFile } from 'node:fs'

/** How often the file is looked at, ms. Not by notification: in a container it lies beside the database, whose writes
 * would all be notified too. */
const LOOK_MS = 1_000
/** A file that was changed is left alone for this long, because whoever writes it may not be done, ms. */
const SETTLE_MS = 200

export interface Watch {
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
  { look = LOOK_MS, settle = SETTLE_MS, lost = () => {} }: Watch = {},
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
    if (now.mtimeMs === before.mtimeMs && now.size === before.size && now.ino === before.ino) return
    clearTimeout(settling)
    settling = setTimeout(changed, settle)
  }
  watchFile(file, { interval: look, persistent: false }, soon)
  process.on('SIGHUP', changed)
  return () => {
    clearTimeout(settling)
    unwatchFile(file, soon)
    process.off('SIGHUP', changed)
  }
}
