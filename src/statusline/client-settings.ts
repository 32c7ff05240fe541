// The client's settings file as text: our entry is put in and taken out without touching another byte. Pure; whoever
// calls reads and writes the file.
import { parseDocument } from 'yaml'
import { isObject } from './facts.ts'

export type Key = 'statusLine' | 'subagentStatusLine'

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
  if (!isObject(settings)) throw new Error('it holds no JSON object; repair it first')
  return settings
}

/** Puts `key` with a command into the settings, at their end, or in the place of the entry that is there. */
export function putCommand(text: string, key: Key, command: string): { text: string; edit: Edit } {
  const entry = JSON.stringify({ type: 'command', command })
  if (key in readSettings(text)) {
    // JSON is YAML: the parser is there for its positions.
    const node = parseDocument(text, { uniqueKeys: false }).get(key, true) as {
      range: [number, number, number]
    }
    const [from, to] = node.range
    return {
      text: text.slice(0, from) + entry + text.slice(to),
      edit: { before: text.slice(from, to), after: entry },
    }
  }
  if (text.trim() === '') {
    const whole = `{\n  ${JSON.stringify(key)}: ${entry}\n}\n`
    return { text: whole, edit: { before: text, after: whole } }
  }
  const end = text.slice(0, text.lastIndexOf('}')).trimEnd().length
  const empty = text[end - 1] === '{'
  const after = `${empty ? '' : ','}\n  ${JSON.stringify(key)}: ${entry}${empty ? '\n' : ''}`
  return { text: text.slice(0, end) + after + text.slice(end), edit: { before: '', after } }
}

/** Takes the edit back; null where what we put in is not there any more, once and as it was. */
export function takeBack(text: string, { before, after }: Edit): string | null {
  const at = text.indexOf(after)
  if (at < 0 || text.indexOf(after, at + 1) >= 0) return null
  return text.slice(0, at) + before + text.slice(at + after.length)
}

/** The command of an entry; null where there is none. */
export function commandOf(settings: Readonly<Record<string, unknown>>, key: Key): string | null {
  const entry = settings[key]
  return isObject(entry) && typeof entry.command === 'string' ? entry.command : null
}
