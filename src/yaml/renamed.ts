// Renamed settings: finds old names in a YAML document and replaces them. Comments and layout stay. Independent
// of the particular settings.
import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import type { Problem } from './problem.ts'

/**
 * New names of settings by their old path, such as `providers.*.api`. The new name replaces the path's last
 * part; `*` is any name.
 */
export type Renames = Readonly<Record<string, string>>

interface OldName {
  readonly path: readonly string[]
  readonly to: string
  /** Offsets of the name in the text. */
  readonly start: number
  readonly end: number
}

/** Returns the old names in a document, in the order of its text. */
function oldNames(contents: unknown, renames: Renames): OldName[] {
  const patterns = Object.entries(renames).map(([place, to]) => ({ parts: place.split('.'), to }))
  const newNameOf = (path: readonly string[]) =>
    patterns.find(
      ({ parts }) =>
        parts.length === path.length && parts.every((part, n) => part === '*' || part === path[n]),
    )?.to
  const found: OldName[] = []
  const visit = (node: unknown, path: readonly string[]): void => {
    if (isSeq(node)) for (const [n, item] of node.items.entries()) visit(item, [...path, String(n)])
    if (!isMap(node)) return
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue
      const place = [...path, String(key.value)]
      const to = newNameOf(place)
      if (to !== undefined) found.push({ path: place, to, start: key.range![0], end: key.range![1] })
      visit(value, place)
    }
  }
  visit(contents, [])
  return found
}

/**
 * Returns a problem for each old name. `contents`: see `Text`; `remedy`: the command that replaces the old names.
 */
export const renamedProblems = (contents: unknown, renames: Renames, remedy: string): Problem[] =>
  oldNames(contents, renames).map(({ path, to }) => ({
    path,
    message: `is now called ${to}; \`${remedy}\` renames it`,
    atName: true,
  }))

/** Returns the text with new names, and the number of replaced names. */
export function withNewNames(text: string, renames: Renames): { text: string; count: number } {
  const names = oldNames(parseDocument(text, { uniqueKeys: false }).contents, renames)
  return {
    text: names.reduceRight((left, { start, end, to }) => left.slice(0, start) + to + left.slice(end), text),
    count: names.length,
  }
}
