// The client's settings file as text: our entry is inserted and removed without touching another byte. Pure; the
// caller reads and writes the file.
import { parseDocument } from 'yaml'
import { isObject } from './facts.ts'

/** Where in the settings; a dot leads into an object. */
export type Key = 'statusLine' | 'subagentStatusLine' | 'ui.statusLine'

/** One edit: `before` stood where `after` stands now. */
export interface Edit {
  readonly before: string
  readonly after: string
}

/** The settings; throws where the text is no JSON object, for then we would harm it. */
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

/** Puts `key` with a command into the settings, at the end of the object that it belongs to, or in the place of the entry that is there. */
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
    // JSON is YAML: the parser is there for its positions.
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

/** Takes the edit back; null where what we put in is not there any more, once and as it was. */
export function takeBack(text: string, { before, after }: Edit): string | null {
  const at = text.indexOf(after)
  if (at < 0 || text.indexOf(after, at + 1) >= 0) return null
  return text.slice(0, at) + before + text.slice(at + after.length)
}

type Settings = Readonly<Record<string, unknown>>

/** What stands under the key; undefined where nothing does. */
export const entryOf = (settings: Settings, key: Key): unknown =>
  key.split('.').reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), settings)

/** The command of an entry; null where there is none. */
export function commandOf(settings: Settings, key: Key): string | null {
  const entry = entryOf(settings, key)
  return isObject(entry) && typeof entry.command === 'string' ? entry.command : null
}

/** The settings without the entry; an object that held nothing else goes too. */
export function without(settings: Settings, key: string): Settings {
  const [name = '', ...rest] = key.split('.')
  const { [name]: inner, ...others } = settings
  if (rest.length === 0 || !isObject(inner)) return others
  const left = without(inner, rest.join('.'))
  return Object.keys(left).length === 0 ? others : { ...settings, [name]: left }
}
