// `answer_model: requested` of a route: replaces the provider's model name by the requested id. Changes only
// the bytes of this member. The dialect decides where an answer names its model.
import type { ParsedEvent } from '../core/call.ts'
import type { ClientDialect } from '../dialects/dialect.ts'
import { JsonStructureError } from '../json/splice.ts'

/** Returns an answer or an event with its model renamed. Returns it unchanged if it names no model. */
type Rename = (bytes: Buffer, parsed: ParsedEvent) => Buffer

type Renamer = Pick<ClientDialect, 'renameModel'>

// Encodes the model's name. Latin-1 maps each byte to one character, so invalid UTF-8 survives unchanged.
const asLatin1 = (model: string): string => Buffer.from(JSON.stringify(model)).toString('latin1')

/** Renames the model in a whole answer. */
export const renameAnswer =
  (dialect: Renamer, model: string): Rename =>
  (bytes, parsed) =>
    parsed.model === null
      ? bytes
      : Buffer.from(dialect.renameModel(bytes.toString('latin1'), asLatin1(model)), 'latin1')

/** A line of data. A byte order mark may precede the first line of a stream; a line with one elsewhere is no data. */
const DATA = /^((?:(?<![\s\S])\xef\xbb\xbf)?data: ?)(.*)$/gm

/**
 * Renames the model in an event. JSON on several `data:` lines stays on them, since no value contains a line
 * end.
 */
export const renameEvent =
  (dialect: Renamer, model: string): Rename =>
  (bytes, parsed) => {
    if (parsed.model === null) return bytes
    const text = bytes.toString('latin1')
    const before = [...text.matchAll(DATA)].map(([, , data]) => data)
    const lines = renamed(dialect, before.join('\n'), model)?.split('\n')
    if (lines?.length !== before.length) return bytes // a repeated member had a value on several lines
    const made = lines.values()
    return Buffer.from(
      text.replace(DATA, (_, field) => field + made.next().value),
      'latin1',
    )
  }

/** Returns the data with its model renamed; null if it is not JSON, because a later event begins with a byte order mark. */
function renamed(dialect: Renamer, data: string, model: string): string | null {
  try {
    return dialect.renameModel(data, asLatin1(model))
  } catch (error) {
    if (error instanceof JsonStructureError) return null
    throw error
  }
}
