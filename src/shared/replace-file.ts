// Replaces a file as a whole: a reader, or a crash, finds the old text or the new one.
import { mkdirSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Writes a temporary file and renames it; an existing file keeps its mode, a new one is private. Follows links. */
export function replaceFile(file: string, text: string): void {
  const there = statSync(file, { throwIfNoEntry: false })
  const real = there ? realpathSync(file) : file
  if (!there) mkdirSync(dirname(real), { recursive: true, mode: 0o700 })
  const part = `${real}.${process.pid}.part`
  writeFileSync(part, text, { flag: 'wx', mode: (there?.mode ?? 0o600) & 0o777 })
  renameSync(part, real)
}
