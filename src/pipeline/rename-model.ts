// `answer_model: requested` of a route: the id that was asked for, where the provider named its model. Changes the
// bytes of that one member and no other; knows how an event carries its data, and asks the dialect where a model stands.
import type { ParsedEvent } from '../call.ts'
import type { ClientDialect } from '../dialects/dialect.ts'

/** What an answer or an event is to be sent as. One that names no model is left as it is. */
export type Rename = (bytes: Buffer, parsed: ParsedEvent) => Buffer

type Renamer = Pick<ClientDialect, 'renameModel'>

// Latin-1 gives each byte a character, so bytes that are no UTF-8 come out as they went in.
const asLatin1 = (model: string): string => Buffer.from(JSON.stringify(model)).toString('latin1')

/** For whole answers. */
export const renameAnswer =
  (dialect: Renamer, model: string): Rename =>
  (bytes, parsed) =>
    parsed.model === null
      ? bytes
      : Buffer.from(dialect.renameModel(bytes.toString('latin1'), asLatin1(model)), 'latin1')

const DATA = /^(data: ?)(.*)$/gm

/** For events of a stream. JSON that is spread over several `data:` lines keeps its lines: no value holds a line end. */
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
