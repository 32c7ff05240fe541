// Finds files of the package, both in the source tree and in the installed package. Imports no other file.
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

const root = dirname(findPackageJSON(import.meta.url)!)

/** Returns the absolute path of a file of the package, for example `recordings/index.json`. */
export const packageFile = (path: string): string => join(root, path)
