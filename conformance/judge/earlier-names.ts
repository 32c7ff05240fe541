// Names that earlier versions wrote into the files of a run and into baselines. A reader replaces them with
// the current names.
import { RENAMED_FIELDS } from '../target/read.ts'

/** Finding -> its current name. */
const FINDINGS: Readonly<Record<string, string>> = {
  'PURE-08/calls-reach-the-witness': 'PURE-08/calls-reach-the-mock',
}

/** Returns the current id of a requirement or finding. */
export const currentId = (id: string): string => FINDINGS[id] ?? id

/**
 * Parses a stored file of a run, with the current names of secrets, fields and facts. Throws an error that quotes
 * nothing of the file.
 */
export function parseStored(text: string): unknown {
  const json = parseSilently(
    text.replaceAll('[secret:witness.', '[secret:mock.').replaceAll('{{witness.', '{{mock.'),
  )
  if (json?.target) json.target = renamed(json.target, RENAMED_FIELDS)
  if (json?.facts) json.facts = renamed(json.facts, { surface: 'dialect' })
  return json
}

// biome-ignore lint/suspicious/noExplicitAny: any JSON
function parseSilently(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('is not JSON') // the parser's message quotes the text
  }
}

const renamed = (object: object, names: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [names[name] ?? name, value]))
