// The first code of the single executable (`executable.ts` builds it). Writes the package that the executable carries into
// a private directory once, because SQLite's addon and threads need files, and runs its command line from there.
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { getAsset, getRawAsset } from 'node:sea'
import { zstdDecompressSync } from 'node:zlib'

/** Description of the files in the executable, whose bytes follow one another, compressed. */
export interface Carried {
  /** The version, and a digest of all files. */
  readonly build: string
  /** Name -> size, in the order of the bytes. */
  readonly sizes: Readonly<Record<string, number>>
  /** Machine code: name -> SHA-256. */
  readonly digests: Readonly<Record<string, string>>
}

const { build, sizes, digests } = JSON.parse(getAsset('carried', 'utf8')) as Carried

/** Returns a directory of this user for data. If there is none, the temporary one is also the home of the whole program. */
function dataDirectory(): string {
  const temporary = join(tmpdir(), `waybill-${process.getuid!()}`)
  if (!knownHome()) process.env.HOME = owned(temporary)
  try {
    return owned(join(process.env.XDG_DATA_HOME || join(homedir(), '.local/share'), 'waybill'))
  } catch {
    return owned(temporary) // the home cannot be written
  }
}

function knownHome(): string | null {
  try {
    return homedir()
  } catch {
    return null // the system does not know the user
  }
}

/** Creates a directory with mode 0700 if it is missing. Throws if it is not a directory that only this user can change. */
function owned(directory: string): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const found = lstatSync(directory)
  if (!found.isDirectory() || found.uid !== process.getuid!() || (found.mode & 0o022) !== 0)
    throw new Error(`${directory} must be a directory that only you can change`)
  accessSync(directory, constants.W_OK)
  return directory
}

/** Returns the directory with the package; writes it if it is not there, or is damaged. */
function unpacked(directory: string): string {
  if (isWhole(directory)) return directory
  const fresh = mkdtempSync(`${directory}.`)
  try {
    const bytes = zstdDecompressSync(Buffer.from(getRawAsset('bytes')))
    let from = 0
    for (const [name, size] of Object.entries(sizes)) {
      const file = join(fresh, name)
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      writeFileSync(file, bytes.subarray(from, from + size), { mode: 0o600 })
      from += size
    }
    if (lstatSync(directory, { throwIfNoEntry: false })) renameSync(directory, join(fresh, 'damaged'))
    renameSync(fresh, directory)
    rmSync(join(directory, 'damaged'), { recursive: true, force: true })
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    // Another process was faster.
    if (!isWhole(directory)) throw error
  }
  return directory
}

/**
 * Returns true if the directory is private, and its machine code has the digest. A start would take twice as long if it
 * looked at every file.
 */
function isWhole(directory: string): boolean {
  try {
    const { mode, uid } = lstatSync(directory)
    return (
      (mode & 0o077) === 0 &&
      uid === process.getuid!() &&
      Object.entries(digests).every(([name, digest]) => sha256(join(directory, name)) === digest)
    )
  } catch {
    return false
  }
}

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/**
 * Runs the command line. A first argument that is the path of a script runs this script instead, as Node would, so that
 * commands can start their own scripts with this program.
 */
function start(directory: string): void {
  const [script, ...rest] = process.argv.slice(2)
  const isScript =
    script !== undefined && /\.[cm]?js$/.test(script) && statSync(script, { throwIfNoEntry: false })?.isFile()
  const main = isScript ? resolve(script) : join(directory, 'dist/cli.js')
  process.argv.splice(1, Number.POSITIVE_INFINITY, main, ...(isScript ? rest : process.argv.slice(2)))
  createRequire(main)(join(directory, 'import.cjs'))(main)
}

try {
  start(unpacked(join(dataDirectory(), `program-${build}`)))
} catch (error) {
  process.stderr.write(`waybill: cannot start: ${(error as Error).message}\n`)
  process.exitCode = 1
}
