// Returns `directory (branch)`, read from Git's files without starting a process.
import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * Returns the name of a directory, with its branch inside a repository; null without a directory. Never
 * throws.
 */
export function directoryLabel(directory: string | null): string | null {
  if (directory === null) return null
  const branch = branchOf(directory)
  return branch === null ? basename(directory) : `${basename(directory)} (${branch})`
}

function branchOf(directory: string): string | null {
  try {
    for (let at = resolve(directory); ; at = dirname(at)) {
      const dot = join(at, '.git')
      const found = statSync(dot, { throwIfNoEntry: false })
      if (found) return headOf(found.isFile() ? linked(dot) : dot)
      if (at === dirname(at)) return null
    }
  } catch {
    return null
  }
}

/** In a worktree, `.git` is a file that contains the path of its directory. */
const linked = (file: string): string =>
  resolve(
    dirname(file),
    readFileSync(file, 'utf8')
      .replace(/^gitdir: /, '')
      .trim(),
  )

function headOf(gitDirectory: string): string {
  const head = readFileSync(join(gitDirectory, 'HEAD'), 'utf8').trim()
  return head.replace(/^ref: refs\/heads\//, '').slice(0, /^[0-9a-f]{40}/.test(head) ? 8 : undefined)
}
