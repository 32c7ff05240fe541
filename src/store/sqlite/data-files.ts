// Whether the paths of the data directory still lead to the files that the store has open. If one does not, what is written
// is lost with the process, and any program that opens the path sees a different file. Knows paths and inodes, no SQL.
import { statSync } from 'node:fs'
import { basename } from 'node:path'

/** A file as it was when the store was opened. */
interface OpenFile {
  readonly path: string
  readonly device: number
  readonly inode: number
}

/** Can be handed to a thread. */
export type OpenFiles = readonly OpenFile[]

/** Notes which files these are; throws where one is not there. */
export const noteFiles = (paths: readonly string[]): OpenFiles =>
  paths.map((path) => {
    const { dev, ino } = statSync(path)
    return { path, device: dev, inode: ino }
  })

/** What is wrong and what helps, in words for an operator; null while every path leads to its file. */
export function lostFile(files: OpenFiles): string | null {
  for (const { path, device, inode } of files) {
    const found = find(path)
    if (found?.ino === inode && found.dev === device) continue
    const what = found ? 'was replaced by another file' : 'is gone'
    return `${basename(path)} ${what}; put the same file back, or restart the gateway`
  }
  return null
}

/** What cannot be looked at is as good as gone. */
function find(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
