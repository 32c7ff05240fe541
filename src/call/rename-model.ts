// `answer_model: requested` of a route: replaces the provider's model name by the requested id. Changes only
// the bytes of this member. The dialect decides where an answer names its model.
import type { ParsedEvent } from '../core/call.ts'
import type { ClientDialect } from '../dialects/dialect.ts'

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

/** A line of data. A byte order mark may precede it. */
const DATA = /^((?:\xef\xbb\xbf)?data: ?)(.*)$/gm

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
    const lines = dialect.renameModel(before.join('\n'), asLatin1(model)).split('\n')
    if (lines.length !== before.length) return bytes // a repeated member had a value on several lines
    const made = lines.values()
    return Buffer.from(
      text.replace(DATA, (_, field) => field + made.next().value),
      'latin1',
    )
  }
