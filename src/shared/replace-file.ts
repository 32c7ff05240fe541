// Replaces a file atomically. A reader always finds the complete old or new text, even after a crash.
import { mkdirSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes a temporary file and renames it. An existing file keeps its mode; a new file is private. Follows
 * links.
 */
export function replaceFile(file: string, text: string): void {
  const there = statSync(file, { throwIfNoEntry: false })
  const real = there ? realpathSync(file) : file
  if (!there) mkdirSync(dirname(real), { recursive: true, mode: 0o700 })
  const part = `${real}.${process.pid}.part`
  writeFileSync(part, text, { flag: 'wx', mode: (there?.mode ?? 0o600) & 0o777 })
  renameSync(part, real)
}
