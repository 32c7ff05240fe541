// Merges usage that a provider reports in parts. One event may count the input and a later event the output.
import type { Tokens } from '../core/call.ts'
import { mergeServed } from '../core/served.ts'

const COUNTS = ['input', 'output', 'cached_input', 'cache_write', 'reasoning'] as const

/**
 * Merges another report. Counts only grow: a zero at the end replaces nothing, and a count that is less than before is
 * a doubt.
 */
export function mergeTokens(before: Tokens | null, now: Tokens | null): Tokens | null {
  if (before === null || now === null) return now ?? before
  const merged = { ...now }
  let isLess = false
  for (const name of COUNTS) {
    const [was, is] = [before[name], now[name]]
    if (was === null || (is !== null && is >= was)) continue
    isLess ||= Boolean(is)
    merged[name] = was
  }
  const served = mergeServed(before.served, now.served)
  const doubtful = isLess ? mergeServed(served, { doubts: ['counts'] }) : served
  return { ...merged, ...(doubtful && { served: doubtful }) }
}
