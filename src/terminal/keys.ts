// Finds keys in the environment or in a private file, never in an argument (LINE-08), and writes the file of kept keys next to the
// configuration. Callers may send the gateway's key only to the gateway.
import { existsSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

type Env = Readonly<Record<string, string | undefined>>

interface FoundKey {
  readonly key: string | null
  /** Reason why a named key is missing; contains no secret. */
  readonly problem: string | null
}

/**
 * Returns WAYBILL_KEY, or else the key in the file, which may be a file of kept keys. Refuses a file that other users
 * may read.
 */
export function findKey(env: Env, file: string | null): FoundKey {
  if (env.WAYBILL_KEY) return checked(env.WAYBILL_KEY, 'WAYBILL_KEY')
  if (!file) return { key: null, problem: null }
  const { text, problem } = privateText(file, 'key file')
  if (text === null) return { key: null, problem }
  return checked((file.endsWith(KEYS_FILE) ? (valuesIn(text).WAYBILL_KEY ?? '') : text).trim(), file)
}

/** Name of the file of kept keys, which is next to the configuration. It has a line NAME=VALUE for each key. */
const KEYS_FILE = 'keys.env'

/** Secrets by the names of their variables. */
export interface Kept {
  readonly values: Readonly<Record<string, string>>
  /** Reason why an existing file was not read; contains no secret. */
  readonly problem: string | null
}

/** Returns the file of kept keys for a configuration file. */
export const keysFileOf = (config: string): string => join(dirname(config), KEYS_FILE)

/** Reads a file of kept keys, which may be absent. Does not use a file that other users may read. */
export function readKept(file: string): Kept {
  if (!existsSync(file)) return { values: {}, problem: null }
  const { text, problem } = privateText(file, 'file of keys')
  return { values: text === null ? {} : valuesIn(text), problem }
}

/** Returns the environment, with the kept keys under the names that it does not set. */
export const withKept = (config: string, env: Env): Env => ({
  ...readKept(keysFileOf(config)).values,
  ...Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim())),
})

/**
 * Writes a key into the file of kept keys, and replaces an earlier key of the same name. Returns the file. Throws if the
 * key cannot be one, or if other users may read the file.
 */
export function keepKey(config: string, name: string, key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new Error(`what was given for ${name} is no key: expected one word of ASCII`)
  const file = keysFileOf(config)
  const { problem } = readKept(file)
  if (problem !== null) throw new Error(problem)
  let there = file
  let before =
    '# Keys for the gateway beside this file, written by `waybill`. Variables of the environment take precedence.\n'
  try {
    there = realpathSync(file)
    before = readFileSync(there, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const others = before
    .split('\n')
    .filter((line) => line !== '' && !new RegExp(`^\\s*(export\\s+)?${name}=`).test(line))
  const temporary = `${there}.${process.pid}.tmp`
  writeFileSync(temporary, [...others, `${name}=${key}`, ''].join('\n'), { mode: 0o600, flag: 'wx' })
  renameSync(temporary, there)
  return file
}

/** The form is that of systemd's environment files, without escapes. */
const valuesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^[ \t\ufeff]*(?:export[ \t]+)?([A-Za-z_]\w*)=[ \t]*(["']?)(.*?)\2[ \t\r]*$/gm)].map(
      ([, name, , value]) => [name!, value!],
    ),
  )

/** Reads a small file that only its owner can read. */
function privateText(file: string, what: string): { text: string | null; problem: string | null } {
  const not = (reason: string) => ({ text: null, problem: `the ${what} ${file} ${reason}` })
  try {
    const stats = statSync(file)
    const { mode, uid } = stats
    const own = process.getuid === undefined || uid === process.getuid()
    // Windows does not report owner and mode here.
    if (process.platform !== 'win32' && (!own || (mode & 0o077) !== 0))
      return not('is open to others; run chmod 600 on it')
    return {
      text: stats.isFile() && stats.size <= MAX_BYTES ? readFileSync(file, 'utf8') : '',
      problem: null,
    }
  } catch (error) {
    return not(`cannot be read (${(error as { code?: string }).code})`)
  }
}

/** Maximum bytes of a file of keys, since devices and pipes have no size. A key has at most 1,000 characters. */
const MAX_BYTES = 65_536

const checked = (key: string, where: string): FoundKey =>
  /^[\x21-\x7e]{1,1000}$/.test(key)
    ? { key, problem: null }
    : { key: null, problem: `${where} does not contain a key: expected one word of ASCII` }
