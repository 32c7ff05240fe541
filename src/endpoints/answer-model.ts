// `answer_model: requested` of a route: the id that was asked for, in the place of the provider's `model`. Changes
// the bytes of that one member and no other; knows OpenAI's answers and how an event carries its data.
import type { ParsedEvent } from '../call.ts'
import { spliceMembers } from '../providers/splice.ts'

/** What an answer or an event is to be sent as. One that names no model is left as it is. */
export type Rename = (bytes: Buffer, parsed: ParsedEvent) => Buffer

// Latin-1 gives each byte a character, so bytes that are no UTF-8 come out as they went in.
const splice = (json: string, model: string): string =>
  spliceMembers(json, { model: Buffer.from(JSON.stringify(model)).toString('latin1') })

/** For whole answers. */
export const renameAnswer =
  (model: string): Rename =>
  (bytes, parsed) =>
    parsed.model === null ? bytes : Buffer.from(splice(bytes.toString('latin1'), model), 'latin1')

const DATA = /^(data: ?)(.*)$/gm

/** For events of a stream. JSON that is spread over several `data:` lines keeps its lines: no value holds a line end. */
export const renameEvent =
  (model: string): Rename =>
  (bytes, parsed) => {
    if (parsed.model === null) return bytes
    const text = bytes.toString('latin1')
    const json = [...text.matchAll(DATA)].map(([, , data]) => data).join('\n')
    const lines = splice(json, model).split('\n').values()
    return Buffer.from(
      text.replace(DATA, (_, field) => field + lines.next().value),
      'latin1',
    )
  }
