// Tells when the configuration should be read again: its file was changed, or the process got SIGHUP. Looks at the file
// by its name, so it does not matter whether an editor writes into it, puts another in its place, or a link is moved.
import { type Stats, unwatchFile, watchFile } from 'node:fs'

/** How often the file is looked at, ms. Not by notification: in a container it lies beside the database, whose writes
 * would all be notified too. */
const LOOK_MS = 1_000
/** A file that was changed is left alone for this long, because whoever writes it may not be done, ms. */
const SETTLE_MS = 200

/** Calls `changed` on every change that has settled and on SIGHUP. Returns how to stop. */
export function watchConfig(file: string, changed: () => void, { look = LOOK_MS } = {}): () => void {
  let settling: NodeJS.Timeout | undefined
  const soon = (now: Stats, before: Stats) => {
    if (now.mtimeMs === before.mtimeMs && now.size === before.size && now.ino === before.ino) return
    clearTimeout(settling)
    settling = setTimeout(changed, SETTLE_MS)
  }
  watchFile(file, { interval: look, persistent: false }, soon)
  process.on('SIGHUP', changed)
  return () => {
    clearTimeout(settling)
    unwatchFile(file, soon)
    process.off('SIGHUP', changed)
  }
}
