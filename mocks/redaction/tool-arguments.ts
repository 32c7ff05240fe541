// Blanks a tool's arguments that a stream sends in pieces. Names can be kept distinct only in complete JSON,
// so the pieces are joined, blanked, and split again in the same places. Independent of dialects.
import { blankJson, eventTypeOf, isPiece } from './json.ts'

/**
 * Returns a function that returns the replacements of a stream's pieces, in order; null if the pieces do not
 * form JSON.
 */
export function planPieces(events: readonly string[]): (piece: string) => string | null {
  const found: { readonly call: string; readonly piece: string }[] = []
  for (const json of events) {
    const eventType = eventTypeOf(json)
    if (!/"(?:arguments|partial_json|delta)"/.test(json)) continue
    collect(JSON.parse(json), '', eventType, (piece, call) =>
      found.push({ call: `${eventType} ${call}`, piece }),
    )
  }
  const joined = Map.groupBy(found, ({ call }) => call)
  const left = new Map(
    Array.from(joined, ([call, pieces]) => {
      const text = pieces.map(({ piece }) => piece).join('')
      return [call, isJson(text) ? { text: blankJson(text), at: 0 } : null]
    }),
  )
  let next = 0
  return (piece) => {
    const planned = found[next++]
    const source = planned?.piece === piece ? left.get(planned.call) : null
    if (!source) return null
    source.at += piece.length
    return source.text.slice(source.at - piece.length, source.at)
  }
}

/** Joins the pieces of texts in a stream, separately for each place. */
export function joinedPieces(body: string): string {
  const joined = new Map<string, string>()
  const add = (value: unknown, place: string): void => {
    if (typeof value === 'string') joined.set(place, (joined.get(place) ?? '') + value)
    else if (typeof value === 'object' && value !== null) {
      const { index, output_index } = value as { index?: unknown; output_index?: unknown }
      for (const [name, inner] of Object.entries(value))
        add(inner, `${place} ${index ?? ''} ${output_index ?? ''} ${name}`)
    }
  }
  for (const [, data] of body.matchAll(/^data: ?(.*)$/gm)) if (isJson(data!)) add(JSON.parse(data!), '')
  return [...joined.values()].join('\n')
}

/** Collects the pieces in a value, with the indexes of their choice, call and block. */
function collect(
  value: unknown,
  field: string,
  eventType: string,
  take: (piece: string, call: string) => void,
  call = '',
): void {
  if (typeof value === 'string' && isPiece(field, eventType)) take(value, call)
  else if (Array.isArray(value)) for (const one of value) collect(one, field, eventType, take, call)
  else if (typeof value === 'object' && value !== null) {
    const { index, output_index } = value as { index?: unknown; output_index?: unknown }
    const here = `${call} ${field} ${index ?? ''} ${output_index ?? ''}`
    for (const [name, inner] of Object.entries(value)) collect(inner, name, eventType, take, here)
  }
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
