// Suggests the probably intended word for a mistyped word. Pure.

/** Returns the nearest known word; null if none is near. Ignores case, `-` and `_`. */
export function nearest(word: string, known: readonly string[]): string | null {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_\s]/g, '')
  const asked = plain(word.slice(0, MAX_NAME_LENGTH))
  let best: string | null = null
  let least = Math.max(1, Math.floor(asked.length / 3)) + 1
  for (const each of known) {
    const steps = distance(asked, plain(each))
    if (steps >= least || steps >= each.length) continue
    best = each
    least = steps
  }
  return best
}

/** Maximum length of a compared name, in characters. Bounds the work for a hostile name. */
const MAX_NAME_LENGTH = 64

/** Returns the number of letters to insert, delete, replace or swap with a neighbour. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const changed = rows[i - 1]![j - 1]! + (same ? 0 : 1)
      const exchanged =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : changed
      row.push(Math.min(changed, exchanged, rows[i - 1]![j]! + 1, row[j - 1]! + 1))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
