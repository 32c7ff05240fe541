// Anthropic's `usage`. Its `input_tokens` excludes tokens read from or written to a cache; our `input`
// includes them. A stream reports it in parts, each count as the total so far.
import type { Tokens } from '../../core/call.ts'
import { isObject, type Json, member, tokenCount } from '../json.ts'

/** Counts as reported. */
export interface Usage {
  readonly input: number | null
  readonly cacheRead: number | null
  readonly cacheWrite: number | null
  /** Part of these that is cached for an hour. */
  readonly forHour: number | null
  readonly output: number | null
  readonly thinking: number | null
}

export const usageOf = (usage: Json): Usage => ({
  input: tokenCount(usage.input_tokens),
  cacheRead: tokenCount(usage.cache_read_input_tokens),
  cacheWrite: tokenCount(usage.cache_creation_input_tokens) ?? writtenFor(usage.cache_creation),
  forHour: tokenCount(member(usage.cache_creation, 'ephemeral_1h_input_tokens')),
  output: tokenCount(usage.output_tokens),
  thinking: tokenCount(member(usage.output_tokens_details, 'thinking_tokens')),
})

/** Sums the tokens cached for five minutes and for an hour, if only these are reported. */
function writtenFor(kinds: unknown): number | null {
  if (!isObject(kinds)) return null
  const counts = [kinds.ephemeral_5m_input_tokens, kinds.ephemeral_1h_input_tokens].map(tokenCount)
  return counts.every((each) => each === null)
    ? null
    : counts.reduce((sum: number, each) => sum + (each ?? 0), 0)
}

/**
 * Merges a further report: the latest value of each count. A count of the input never returns to zero: some
 * servers send zeros at the end.
 */
export function laterUsage(before: Usage | null, now: Usage): Usage {
  if (before === null) return now
  return {
    input: now.input || (before.input ?? now.input),
    cacheRead: now.cacheRead || (before.cacheRead ?? now.cacheRead),
    cacheWrite: now.cacheWrite || (before.cacheWrite ?? now.cacheWrite),
    forHour: now.forHour || (before.forHour ?? now.forHour),
    output: now.output ?? before.output,
    thinking: now.thinking ?? before.thinking,
  }
}

export const tokensOf = ({ input, cacheRead, cacheWrite, forHour, output, thinking }: Usage): Tokens => ({
  source: 'reported',
  input: input === null ? null : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
  output,
  cached_input: cacheRead,
  cache_write: cacheWrite,
  reasoning: thinking,
  ...(forHour !== null && { cache_write_1h: forHour }),
})
