// `install` and `uninstall`: edit the settings of the coding clients that accept a status line, with a receipt, so that
// `uninstall` can undo exactly that change (LINE-11). Settings are edited as text, without changing any other byte. Another
// program's line is never replaced; with `wrap` it becomes part of ours.

import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { parseDocument } from 'yaml'
import { replaceFile } from '../shared/replace-file.ts'
import { isObject } from './client-input.ts'

interface InstallOptions {
  /** The client's settings file, with links resolved. */
  readonly file: string
  readonly key: Key
  /** Directory of the install records. */
  readonly directory: string
  /** True to keep an existing status line and append ours. */
  readonly wrap: boolean
  /** The command as a program and its arguments, unquoted. */
  readonly words: readonly string[]
}

/**
 * Installs the line. Returns the command that was written. Throws, with advice, if the settings are foreign
 * or broken.
 */
export function installLine({ file, key, directory, wrap, words }: InstallOptions): string {
  if (readReceipt(directory, file, key)) uninstall({ file, key, directory })
  const existed = existsSync(file)
  const text = existed ? readFileSync(file, 'utf8') : ''
  const settings = settingsOf(file, text)
  const foreign = commandOf(settings, key)
  if (settingOf(settings, key) !== undefined && !(wrap && foreign !== null))
    throw new Error(`${file} already has a ${key}; \`--wrap\` keeps it and puts ours after it`)
  const wrapped = wrap && foreign !== null ? ['--wrap', foreign] : []
  const command = [...words, ...wrapped].map(quote).join(' ')
  const put = putEntry(text, key.split('.'), { type: 'command', command }, '  ')
  writeReceipt(directory, { file, key, command, created: !existed, edit: put.edit })
  replaceFile(file, put.text)
  return command
}

type Uninstalled = 'restored' | 'nothing' | 'edited'

/** Uninstalls the line. `edited`: our entry was changed, so it now belongs to the user and stays. */
export function uninstall({
  file,
  key,
  directory,
}: Pick<InstallOptions, 'file' | 'key' | 'directory'>): Uninstalled {
  const receipt = readReceipt(directory, file, key)
  if (!receipt) return 'nothing'
  const restored = existsSync(file) ? restore(readFileSync(file, 'utf8'), receipt) : null
  if (restored === null) return 'edited'
  if (receipt.created && restored.trim() === '') rmSync(file)
  else replaceFile(file, restored)
  rmSync(receiptFile(directory, file, key), { force: true })
  return 'restored'
}

/** Returns the settings without our entry; null if the entry is no longer ours. */
function restore(text: string, receipt: Receipt): string | null {
  const plain = takeBack(text, receipt.edit)
  if (plain !== null && isWhole(plain)) return plain
  // A formatter may have changed white space. The entry is still ours if it is otherwise the same.
  const settings = settingsOf(receipt.file, text)
  if (commandOf(settings, receipt.key) !== receipt.command) return null
  return `${JSON.stringify(withoutEntry(settings, receipt.key), null, 2)}\n`
}

/** Returns true for valid settings. Removal of an entry from the middle may leave an extra comma. */
function isWhole(text: string): boolean {
  try {
    readSettings(text)
    return true
  } catch {
    return false
  }
}

function settingsOf(file: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return readSettings(text)
  } catch (error) {
    throw new Error(`${file} was not changed: ${(error as Error).message}`)
  }
}

/** Quotes a word for a POSIX shell. */
const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

interface Receipt {
  readonly file: string
  readonly key: Key
  readonly command: string
  /** True if the file and the directory did not exist before. */
  readonly created: boolean
  /** Only the changed text, because the rest of the file may contain tokens. */
  readonly edit: Edit
}

const receiptFile = (directory: string, file: string, key: Key): string =>
  join(
    directory,
    'receipts',
    `${createHash('sha256').update(`${key} ${file}`).digest('hex').slice(0, 16)}.json`,
  )

/** Returns the install record; null if Waybill did not install the line. */
export function readReceipt(directory: string, file: string, key: Key): Receipt | null {
  try {
    return JSON.parse(readFileSync(receiptFile(directory, file, key), 'utf8'))
  } catch {
    return null
  }
}

const writeReceipt = (directory: string, receipt: Receipt): void =>
  replaceFile(receiptFile(directory, receipt.file, receipt.key), `${JSON.stringify(receipt, null, 2)}\n`)

type Env = Readonly<Record<string, string | undefined>>

/**
 * Scopes of settings. `user`: all projects of the user. `project`: shared with the project. `local`: this
 * user in this project.
 */
export const SETTINGS_SCOPES = ['user', 'project', 'local'] as const
type Scope = (typeof SETTINGS_SCOPES)[number]

export interface Client {
  readonly title: string
  readonly key: Key
  /** Returns the directory of the user's settings. */
  readonly home: (env: Env) => string
  /** Path below the project's directory; absent if the client has no such settings. */
  readonly project: string
  readonly local?: string
  /** Additional step for the user so that the line shows the session; absent if none is needed. */
  readonly tie?: string
}

const homeDirectory = (env: Env): string => env.HOME || homedir()

export const CLIENTS = {
  'claude-code': {
    title: 'Claude Code',
    key: 'statusLine',
    home: (env) => env.CLAUDE_CONFIG_DIR || join(homeDirectory(env), '.claude'),
    project: '.claude/settings.json',
    local: '.claude/settings.local.json',
  },
  copilot: {
    title: 'GitHub Copilot CLI',
    key: 'statusLine',
    home: (env) => env.COPILOT_HOME || join(homeDirectory(env), '.copilot'),
    project: '.github/copilot/settings.json',
    local: '.github/copilot/settings.local.json',
    tie: 'It does not send the gateway a session of its own: start it with `waybill run -- copilot`, which gives its calls and the status line the same session id.',
  },
  qwen: {
    title: 'Qwen Code',
    key: 'ui.statusLine',
    home: (env) => join(homeDirectory(env), '.qwen'),
    project: '.qwen/settings.json',
    tie: 'It does not send the gateway a session by itself: start it with `waybill run -- qwen`, or add the header that docs/agents/qwen.md shows.',
  },
} as const satisfies Record<string, Client>
type ClientName = keyof typeof CLIENTS
export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[]

/** Path of the entry in the settings; a dot separates an object from its member. */
export type Key = 'statusLine' | 'subagentStatusLine' | 'ui.statusLine'

/** One edit, which replaced `before` with `after`. */
interface Edit {
  readonly before: string
  readonly after: string
}

/** Parses the settings. Throws if the text is not a JSON object, because an edit would damage it. */
export function readSettings(text: string): Readonly<Record<string, unknown>> {
  let settings: unknown
  try {
    settings = JSON.parse(text.trim() || '{}')
  } catch (error) {
    throw new Error(`it is not valid JSON (${(error as Error).message}); repair it first`)
  }
  if (!isObject(settings)) throw new Error('it is not a JSON object; repair it first')
  return settings
}

/** Writes an entry into the settings, either replacing its entry or at the end of its object. */
function putEntry(
  text: string,
  [name = '', ...rest]: readonly string[],
  entry: unknown,
  indent: string,
): { text: string; edit: Edit } {
  if (name in readSettings(text)) {
    // JSON is also YAML; this parser is used because it reports positions.
    const { range } = parseDocument(text, { uniqueKeys: false }).get(name, true) as {
      range: [number, number, number]
    }
    const [from, to] = range
    const before = text.slice(from, to)
    const put =
      rest.length > 0
        ? putEntry(before, rest, entry, `${indent}  `)
        : { text: JSON.stringify(entry), edit: { before, after: JSON.stringify(entry) } }
    return { text: text.slice(0, from) + put.text + text.slice(to), edit: put.edit }
  }
  const value = rest.reduceRight<unknown>((inner, outer) => ({ [outer]: inner }), entry)
  const member = `${indent}${JSON.stringify(name)}: ${JSON.stringify(value)}`
  if (text.trim() === '') {
    const whole = `{\n${member}\n}\n`
    return { text: whole, edit: { before: text, after: whole } }
  }
  const end = text.slice(0, text.lastIndexOf('}')).trimEnd().length
  const empty = text[end - 1] === '{'
  const after = `${empty ? '' : ','}\n${member}${empty ? `\n${indent.slice(2)}` : ''}`
  return { text: text.slice(0, end) + after + text.slice(end), edit: { before: '', after } }
}

/** Reverts the edit. Returns null if our text is not there exactly once. */
function takeBack(text: string, { before, after }: Edit): string | null {
  const at = text.indexOf(after)
  if (at < 0 || text.indexOf(after, at + 1) >= 0) return null
  return text.slice(0, at) + before + text.slice(at + after.length)
}

type Settings = Readonly<Record<string, unknown>>

/** Returns the value of the key; undefined if there is none. */
const settingOf = (settings: Settings, key: Key): unknown =>
  key.split('.').reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), settings)

/** Returns the command of an entry; null if there is none. */
export function commandOf(settings: Settings, key: Key): string | null {
  const entry = settingOf(settings, key)
  return isObject(entry) && typeof entry.command === 'string' ? entry.command : null
}

/** Returns the settings without the entry. An object with no other entry is removed too. */
function withoutEntry(settings: Settings, key: string): Settings {
  const [name = '', ...rest] = key.split('.')
  const { [name]: inner, ...others } = settings
  if (rest.length === 0 || !isObject(inner)) return others
  const left = withoutEntry(inner, rest.join('.'))
  return Object.keys(left).length === 0 ? others : { ...settings, [name]: left }
}

/**
 * Returns a client's settings file in a scope, even if it is missing, with links resolved. Returns null if
 * there is no such scope.
 */
export function settingsFile(client: Client, scope: Scope, env: Env, cwd: string): string | null {
  const below = scope === 'user' ? null : client[scope]
  if (below === undefined) return null
  const file = below === null ? join(client.home(env), 'settings.json') : join(cwd, below)
  return existsSync(file) ? realpathSync(file) : file
}

/** Directory of install records and the sh variant: `$XDG_DATA_HOME/waybill`, or `~/.local/share/waybill`. */
export const dataDirectory = (env: Env): string =>
  join(env.XDG_DATA_HOME || join(homeDirectory(env), '.local', 'share'), 'waybill')

/**
 * Returns this Node and the bundle next to `from`, as absolute paths, because the client's PATH may contain a
 * different Node or none. The single executable draws the line itself. Throws if the bundle is in npx's cache.
 */
export function program(from: string = import.meta.url): string[] {
  if (isSea()) return [process.execPath, 'statusline']
  const bundle = fileURLToPath(new URL('statusline.cjs', from))
  const built = existsSync(bundle) ? bundle : fileURLToPath(new URL('../../dist/statusline.cjs', from))
  if (!existsSync(built)) throw new Error('the status line is not built; run `npm run build` first')
  if (/[\\/]_npx[\\/]/.test(built))
    throw new Error(
      `${built} is in npm's cache, which npm may clear; install waybill first, or use --sh, which keeps its own copy`,
    )
  return [process.execPath, built]
}

/** Copies the script, so that it remains after this package is removed. */
export function installScript(directory: string): string[] {
  const copy = join(directory, 'statusline.sh')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  copyFileSync(fileURLToPath(new URL('statusline.sh', import.meta.url)), copy)
  return ['/bin/sh', copy]
}
