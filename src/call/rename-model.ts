// `answer_model: requested` of a route: puts the requested id in place of the provider's model name. Changes
// the bytes of that member and no others; the dialect says where an answer names its model.
import type { ParsedEvent } from '../core/call.ts'
import type { ClientDialect } from '../dialects/dialect.ts'

/** Returns an answer or an event with its model renamed, or as it is if it names none. */
export type Rename = (bytes: Buffer, parsed: ParsedEvent) => Buffer

type Renamer = Pick<ClientDialect, 'renameModel'>

// Latin-1 maps each byte to one character, so bytes that are not UTF-8 survive unchanged.
const asLatin1 = (model: string): string => Buffer.from(JSON.stringify(model)).toString('latin1')

/** Renames the model in a whole answer. */
export const renameAnswer =
  (dialect: Renamer, model: string): Rename =>
  (bytes, parsed) =>
    parsed.model === null
      ? bytes
      : Buffer.from(dialect.renameModel(bytes.toString('latin1'), asLatin1(model)), 'latin1')

const DATA = /^(data: ?)(.*)$/gm

/** Renames the model in an event. JSON over several `data:` lines keeps them: no value has a line end. */
export const renameEvent =
  (dialect: Renamer, model: string): Rename =>
  (bytes, parsed) => {
    if (parsed.model === null) return bytes
    const text = bytes.toString('latin1')
    const json = [...text.matchAll(DATA)].map(([, , data]) => data).join('\n')
    const lines = dialect.renameModel(json, asLatin1(model)).split('\n').values()
    return Buffer.from(
      text.replace(DATA, (_, field) => field + lines.next().value),
      'latin1',
    )
  }
