// The line when the gateway supplies none: the client's own label, the reason, and the client's own facts.
import { cut, type Measure } from '../terminal/clean.ts'
import { THEMES, type ThemeName } from './themes.ts'

/**
 * Returns one line of at most `columns` cells. The first part always stays, and the last part is dropped first
 * (LINE-06).
 */
export function ownLine(
  parts: readonly string[],
  columns: number | null,
  theme: ThemeName | null,
  cells: Measure,
): string {
  const limit = columns ?? Number.POSITIVE_INFINITY
  const count = parts.findLastIndex((_, at) => cells(parts.slice(0, at + 1).join(' · ')) <= limit)
  const rest = parts.slice(1, count + 1).map((part) => ` · ${part}`)
  const quiet = theme === null || rest.length === 0 ? '' : `\u001b[${THEMES[theme].quiet}m`
  return `${cut(parts[0]!, limit, cells)}${quiet}${rest.join('')}${quiet && '\u001b[0m'}`
}
