// The coding clients whose settings accept a status line: the location of the settings and of our own files, and the name
// of the entry. Edits the settings as text: inserts and removes our entry without changing any other byte.

import { copyFileSync, existsSync, mkdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { parseDocument } from 'yaml'
import { isObject } from './client-input.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Scopes of settings. `user`: all projects of the user. `project`: shared with the project. `local`: this
 * user in this project.
 */
export const SETTINGS_SCOPES = ['user', 'project', 'local'] as const
export type Scope = (typeof SETTINGS_SCOPES)[number]

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
export interface Edit {
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

/** Writes `key` with a command into the settings, either replacing its entry or at the end of its object. */
export function putCommand(text: string, key: Key, command: string): { text: string; edit: Edit } {
  return putEntry(text, key.split('.'), { type: 'command', command }, '  ')
}

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
export function takeBack(text: string, { before, after }: Edit): string | null {
  const at = text.indexOf(after)
  if (at < 0 || text.indexOf(after, at + 1) >= 0) return null
  return text.slice(0, at) + before + text.slice(at + after.length)
}

type Settings = Readonly<Record<string, unknown>>

/** Returns the value of the key; undefined if there is none. */
export const settingOf = (settings: Settings, key: Key): unknown =>
  key.split('.').reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), settings)

/** Returns the command of an entry; null if there is none. */
export function commandOf(settings: Settings, key: Key): string | null {
  const entry = settingOf(settings, key)
  return isObject(entry) && typeof entry.command === 'string' ? entry.command : null
}

/** Returns the settings without the entry. An object with no other entry is removed too. */
export function withoutEntry(settings: Settings, key: string): Settings {
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
