// `waybill key new`: creates a gateway key. The key is written into a file that only its owner can read. The
// key is shown only on a terminal with --print. The configuration contains its digest.
import { hash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { KeyConfig } from '../config/load.ts'
import { name as nameSchema } from '../config/schema.ts'
import { UsageError } from './usage-error.ts'

interface KeyNewOptions {
  /** Name of the key. */
  readonly name: string
  readonly role: KeyConfig['role']
  readonly file?: string
  /** True to show the key, too. */
  readonly print?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  readonly out: { readonly isTTY: boolean; write(text: string): unknown }
}

/**
 * Creates the key. Throws if the configuration does not allow the name, if the file exists or cannot be written, or if
 * the key would be printed anywhere except to a terminal.
 */
export function keyNew({ name, role, file, print = false, env, out }: KeyNewOptions): void {
  const { error } = nameSchema.safeParse(name)
  if (error)
    throw new UsageError(`the name ${JSON.stringify(name)} is not possible: ${error.issues[0]!.message}`)
  if (print && !out.isTTY)
    throw new Error('--print shows the key on a terminal only; leave it out and read the file instead')
  const path = resolve(file ?? join(configDirectory(env), 'keys', name))
  const key = `wb_${randomBytes(32).toString('base64url')}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' }) // `x`: never overwrites a key in use
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Error(`${path} already exists; use another name, or remove it if its key is not in use`)
  }
  const entry = `{ name: ${JSON.stringify(name)}, role: ${role}, digest: "sha256:${hash('sha256', key)}" }`
  out.write(`The key is in ${path}\n`)
  if (print) out.write(`It is ${key}\n`)
  out.write(`Put its digest into the configuration:\nkeys:\n  - ${entry}\n`)
}

/** Returns `$XDG_CONFIG_HOME/waybill`, or `~/.config/waybill` if it is not set. */
const configDirectory = (env: KeyNewOptions['env']): string =>
  join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'waybill')
