// The file of kept keys next to the configuration: where it is, and how a key gets into it. `terminal/environment.ts` reads it.
import { readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KEYS_FILE, readKept } from '../terminal/environment.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Returns the file of kept keys for a configuration file. */
export const keysFileOf = (config: string): string => join(dirname(config), KEYS_FILE)

/** Returns the environment, with the kept keys under the names that it does not set. */
export const withKept = (config: string, env: Env): Env => ({
  ...readKept(keysFileOf(config)).values,
  ...Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim())),
})

/**
 * Writes a key into the file of kept keys, in place of an earlier one of this name. Returns the file. Throws if the
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
