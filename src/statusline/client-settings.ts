// Edits the client's settings file as text. Inserts and removes our entry without changing any other byte.
// Pure; the caller reads and writes the file.
import { parseDocument } from 'yaml'
import { isObject } from './payload.ts'

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
