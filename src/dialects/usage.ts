// Merges usage that a provider reports in parts. One event may count the input and a later event the output.
import type { Tokens } from '../core/call.ts'
import { mergeServed } from '../core/served.ts'

/** Merges another report. The latest value of each count wins. */
export function mergeTokens(before: Tokens | null, now: Tokens | null): Tokens | null {
  if (before === null || now === null) return now ?? before
  const served = mergeServed(before.served, now.served)
  return {
    source: now.source,
    input: now.input ?? before.input,
    output: now.output ?? before.output,
    cached_input: now.cached_input ?? before.cached_input,
    cache_write: now.cache_write ?? before.cache_write,
    reasoning: now.reasoning ?? before.reasoning,
    ...(served && { served }),
  }
}
