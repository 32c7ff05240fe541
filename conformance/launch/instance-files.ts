// Files of an instance on this machine, in its own directory.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { FileFacts, Files } from './instance.ts'

export const filesIn = (directory: string): Files => ({
  list: async () => filesBelow(directory),
  read: async (name) =>
    existsSync(join(directory, name)) ? readFileSync(join(directory, name), 'utf8') : null,
  async write(files) {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true, mode: 0o700 })
      writeFileSync(join(directory, name), text, { mode: 0o600 })
    }
  },
})

/** Returns all files: path below the directory -> facts. */
export function filesBelow(directory: string): Map<string, FileFacts> {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  return new Map(
    paths.map((path) => {
      const { size, mtimeMs } = statSync(path)
      return [relative(directory, path), { bytes: size, changedAt: mtimeMs }]
    }),
  )
}
