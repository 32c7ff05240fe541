// JSON -> a text that is the same for requests that mean the same, and never for others: the order of members and
// the space between them do not count, the spelling of a number does. Pure.

/** A number as it was written: 64-bit seeds do not fit into a JavaScript number, so two of them could become one. */
class Spelled {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

// Its third argument, the source, is newer than TypeScript's types.
const parse = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { readonly source: string }) => unknown,
) => unknown

/**
 * The canonical text of a JSON object without the members named in `without`. Null where it has none: a member that
 * stands twice is read differently by different parsers, and nesting may be too deep.
 */
export function canonical(json: string, without: readonly string[]): string | null {
  try {
    const value = parse(json, (_, each, { source }) =>
      typeof each === 'number' ? new Spelled(source) : each,
    )
    if (membersOf(value) !== membersIn(json)) return null
    for (const name of without) delete (value as Record<string, unknown>)[name]
    return write(value)
  } catch {
    return null
  }
}

function write(value: unknown): string {
  if (value instanceof Spelled) return value.source
  if (Array.isArray(value)) return `[${value.map(write).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, each]) => `${JSON.stringify(name)}:${write(each)}`).join()}}`
}

/** How many members the objects of a value have, all together. */
function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof Spelled) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum, each) => sum + membersOf(each), own)
}

/** How many are written in its text: strings with a colon behind them. Escapes go first, so that each string ends at its quote. */
const membersIn = (json: string): number =>
  [...json.replace(/\\./gs, '').matchAll(/"[^"]*"(\s*:)?/g)].filter(([, colon]) => colon).length
