// Reads the digest key of a folder of recordings, and the user's masks, from `.waybill/` in that folder.
// Knows files and one environment variable. A missing key is an error and is not replaced by a new key:
// digests from two keys in one folder would not match.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, sep } from 'node:path'
import { createDigester, type Digester, keyName } from '../matching/digest.ts'
import { ownRecordings, type Recording, readRecordings, SETTINGS_FOLDER } from './format.ts'
import type { Keep } from './make.ts'

const VARIABLE = 'WAYBILL_DIGEST_KEY'
const MIN_KEY_CHARACTERS = 32

const keyFile = (dir: string): string => join(dir, SETTINGS_FOLDER, 'digest-key')

/** Parts of an exchange that the user wants to store; by default none of its text. */
export interface KeepOptions {
  readonly keepAnswers?: boolean | undefined
  /** Also stores the texts of the requests. */
  readonly keepText?: boolean | undefined
  /** Stores whole requests, which can be sent again. */
  readonly keepRequests?: boolean | undefined
}

/**
 * Returns the settings with which recordings in `dir` store their answers, without the name of `folder`;
 * undefined if the user does not want answers to be stored. Makes a key if no recording there has digests
 * yet. Throws for the package's own folder, which is published.
 */
export function keepIn(
  dir: string,
  { keepAnswers, keepText, keepRequests }: KeepOptions,
  folder?: string,
): Omit<Keep, 'at'> | undefined {
  if (!keepAnswers && !keepText && !keepRequests) return undefined
  if (isOwn(dir))
    throw new Error(
      `${dir} belongs to the package, which is published: no answers are kept there; name another folder`,
    )
  const known = readRecordings(dir)
  if (keyOf(dir) === null && keysOf(known).length === 0) makeKey(dir)
  const digester = digesterOf(dir, known)
  return { digester, text: keepText === true, request: keepRequests === true, ...(folder && { folder }) }
}

function isOwn(dir: string): boolean {
  const own = realpathSync(ownRecordings)
  const real = realpathSync(dir)
  return real === own || real.startsWith(`${own}${sep}`)
}

/** Returns the digester for replay; null if no recording has digests. Throws without the right key. */
export function digesterForReplay(dir: string | null, known: readonly Recording[]): Digester | null {
  return keysOf(known).length > 0 ? digesterOf(dir, known) : null
}

function digesterOf(dir: string | null, known: readonly Recording[]): Digester {
  const key = keyOf(dir)
  const names = keysOf(known)
  const where = dir === null ? VARIABLE : `${keyFile(dir)} or ${VARIABLE}`
  if (key === null)
    throw new Error(
      `these recordings are found by keyed digests, and their key is missing: put it into ${where}; without it no request can be recognised, so record them again in an empty folder if it is lost`,
    )
  if (key.length < MIN_KEY_CHARACTERS)
    throw new Error(
      `the digest key has ${key.length} characters, but needs ${MIN_KEY_CHARACTERS}: see ${where}`,
    )
  const other = known.find(({ request }) => request.said && request.said.key !== keyName(key))
  if (other)
    throw new Error(
      `${names.length > 1 ? 'these recordings were made with several digest keys' : 'these recordings were made with another digest key'}: ${other.name} with ${other.request.said!.key}, and the key in ${where} is ${keyName(key)}; put the right one there, or record again in an empty folder`,
    )
  return createDigester(key, dir === null ? [] : readMasks(dir), [process.cwd(), homedir()])
}

const keysOf = (known: readonly Recording[]): string[] => [
  ...new Set(known.flatMap(({ request }) => (request.said ? [request.said.key] : []))),
]

/** Returns the key from the environment or the folder, or null. */
function keyOf(dir: string | null): string | null {
  const given = process.env[VARIABLE]?.trim()
  if (given) return given
  return dir !== null && existsSync(keyFile(dir)) ? readFileSync(keyFile(dir), 'utf8').trim() : null
}

function makeKey(dir: string): void {
  const folder = join(dir, SETTINGS_FOLDER)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, '.gitignore'), 'digest-key\n')
  writeFileSync(keyFile(dir), `${randomBytes(32).toString('hex')}\n`, { flag: 'wx', mode: 0o600 })
}

/** Returns the reason why the key's file is not safe, or null. */
export function keyProblem(dir: string): string | null {
  if (process.platform === 'win32' || !existsSync(keyFile(dir))) return null
  return (statSync(keyFile(dir)).mode & 0o077) === 0
    ? null
    : `${SETTINGS_FOLDER}/digest-key: other users can read it; chmod 600 it`
}

/** Reads the user's masks: a regular expression on each line, `#` before a comment. */
function readMasks(dir: string): RegExp[] {
  const file = join(dir, SETTINGS_FOLDER, 'masks')
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .flatMap((line, i) => {
      if (line.trim() === '' || line.startsWith('#')) return []
      try {
        return [new RegExp(line, 'g')]
      } catch (error) {
        throw new Error(`${file}, line ${i + 1}: ${(error as Error).message}; correct the pattern`)
      }
    })
}
