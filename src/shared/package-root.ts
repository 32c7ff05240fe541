// Finds files of the package, both in the source tree and in the installed package. Imports no other file.
import { realpathSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { isSea } from 'node:sea'

const root = dirname(findPackageJSON(import.meta.url)!)

/** Returns the absolute path of a file of the package, for example `recordings/index.json`. */
export const packageFile = (path: string): string => join(root, path)

/** Returns the words that start this program again. The single executable needs only its own path. */
export const ownCommand = (): [string, ...string[]] =>
  isSea() ? [process.execPath] : [process.execPath, realpathSync(process.argv[1]!)]
