// `waybill key new` and `waybill key set`: make a key of the gateway, and keep keys. A new key is written into a file that
// only its owner can read, and shown only on a terminal with --print. The configuration contains its digest.
import { hash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import type { KeyConfig } from '../config/load.ts'
import { name as nameSchema } from '../config/schema.ts'
import { keepKey, keysFileOf, readKept } from '../terminal/keys.ts'
import { withEntry } from '../yaml/yaml.ts'
import { preparedEdit } from './config-file.ts'
import { userDirectory } from './find-config.ts'
import { complain, print as printLine, UsageError } from './output.ts'

interface KeyNewOptions {
  /** Name of the key. */
  readonly name: string
  readonly role: KeyConfig['role']
  readonly config?: string
  readonly file?: string
  /** True to show the key, too. */
  readonly print?: boolean
  /** True to add the digest to the configuration. */
  readonly add?: boolean
  /** True for the owner's own key: an admin key that is kept next to the configuration, and added to it. */
  readonly own?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  readonly out: { readonly isTTY: boolean; write(text: string): unknown }
}

/**
 * Creates the key. Throws if the configuration does not allow the name, if the file exists or cannot be written, or if
 * the key would be printed anywhere except to a terminal.
 */
export function keyNew(options: KeyNewOptions): void {
  const { name, file, print = false, own = false, add = own, config = 'waybill.yaml', env, out } = options
  const role = own ? 'admin' : options.role
  const { error } = nameSchema.safeParse(name)
  if (error)
    throw new UsageError(`the name ${JSON.stringify(name)} is not possible: ${error.issues[0]!.message}`)
  if (print && !out.isTTY)
    throw new Error('--print shows the key on a terminal only; leave it out and read the file instead')
  const key = `wb_${randomBytes(32).toString('base64url')}`
  const entry = { name, role, digest: `sha256:${hash('sha256', key)}` }
  if (own && 'WAYBILL_KEY' in readKept(keysFileOf(config)).values)
    throw new Error(`${keysFileOf(config)} has a key of yours already; remove its line WAYBILL_KEY first`)
  const addDigest = add ? preparedEdit(config, (text) => withEntry(text, ['keys'], null, entry), env) : null
  const path = own
    ? keepKeyAndWarn(config, 'WAYBILL_KEY', key)
    : written(key, resolve(file ?? join(userDirectory(env), 'keys', name)))
  out.write(`The key is in ${path}\n`)
  if (print) out.write(`It is ${key}\n`)
  if (addDigest) {
    addDigest()
    out.write(`Its digest is in ${config}; a running gateway reads it within a second.\n`)
    return
  }
  const line = `{ name: ${JSON.stringify(name)}, role: ${role}, digest: "${entry.digest}" }`
  out.write(`Put its digest into the configuration:\nkeys:\n  - ${line}\n`)
}

/** Writes a key into a new file. Never overwrites a key in use. */
function written(key: string, path: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Error(`${path} already exists; use another name, or remove it if its key is not in use`)
  }
  return path
}

interface KeySetOptions {
  /** Name of the variable. */
  readonly variable: string
  readonly config: string
}

/** Keeps a key, which comes from stdin or from a question whose answer is not shown. */
export async function keySet({ variable, config }: KeySetOptions): Promise<void> {
  if (!/^[A-Za-z_]\w*$/.test(variable))
    throw new UsageError(`${JSON.stringify(variable)} is not the name of a variable, such as OPENAI_API_KEY`)
  const key = await secretFromStdin(variable)
  if (key === '') throw new UsageError('no key was given; nothing was written')
  printLine(`${variable} is kept in ${keepKeyAndWarn(config, variable, key)}`)
}

/** Keeps a key as `keepKey` does, and names the danger of a repository. */
export function keepKeyAndWarn(config: string, variable: string, key: string): string {
  const isNew = !existsSync(keysFileOf(config))
  const file = keepKey(config, variable, key)
  if (isNew && isInRepository(dirname(resolve(file))))
    complain(`${file} is in a git repository; add keys.env to its .gitignore`)
  return file
}

function isInRepository(directory: string): boolean {
  return (
    existsSync(join(directory, '.git')) ||
    (dirname(directory) !== directory && isInRepository(dirname(directory)))
  )
}

/** Returns the text of stdin; on a terminal, asks for it and shows nothing. */
export async function secretFromStdin(variable: string): Promise<string> {
  if (!process.stdin.isTTY) return (await textOf(process.stdin)).trim()
  process.stderr.write(`${variable} (nothing is shown, Enter leaves it out): `)
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output, terminal: true })
  try {
    return (await terminal.question('')).trim()
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
