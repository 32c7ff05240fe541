// Numbers in usages that cost nothing of their own, as data with sources: repetitions of other counts, times, rates,
// and amounts of money. Every other number that no axis of the price explains is a doubt. Belongs to no single dialect.
import { isObject, type Json } from './json.ts'

interface KnownNumbers {
  readonly why: string
  readonly source: string
  readonly names: RegExp
  /** True if the number costs something, which the provider includes in the cost that it reports. */
  readonly isInReportedCost?: true
  /** True if the number is a part of a count at the top, and no more than that. */
  readonly isPart?: true
}

/** The last part of a member's name decides. */
const NUMBERS: readonly KnownNumbers[] = [
  {
    why: 'an amount of money, or a part of one',
    source:
      'OpenRouter usage accounting; Vercel AI Gateway (`market_cost`); DeepInfra (`estimated_cost`); Perplexity (`cost`)',
    names: /(^|_)(cost|costs|usd|credits|price)$|_cost_|Cost$/,
  },
  {
    why: 'a time',
    source:
      'Groq CompletionUsage (`queue_time`); Azure (`latency_checkpoint`); llama.cpp (`prompt_ms`); SambaNova (`time_to_first_token`)',
    names: /(^|_)(time|ms|latency|timestamp|ttft|ttlt|tbt)$|^time_to_|_(ms|time)_|Ms$|Time$/,
  },
  {
    why: 'a rate',
    source: 'llama.cpp (`predicted_per_second`); SambaNova (`total_tokens_per_sec`, `acceptance_rate`)',
    names: /_per_(s|sec|second|token)s?(_|$)|(^|_)rate$|PerSecond$/,
  },
  {
    why: 'tokens of a guess, which are part of the output or not charged',
    source: 'OpenAI CompletionTokensDetails; vLLM and llama.cpp (`draft_n`)',
    names: /^((accepted|rejected)_prediction_tokens|draft_n(_accepted)?|(num_)?(draft|accepted)_tokens)$/,
  },
  {
    why: 'a count of another unit for the same text, or of what was read without a fee',
    source:
      'MiniMax (`total_characters`); xAI (`num_sources_used`); llama.cpp (`cache_n`, `prompt_n`, `predicted_n`)',
    names: /^(total_characters|num_sources_used|request_count|cache_n|prompt_n|predicted_n|batch_size)$/,
  },
  {
    why: 'a part of a count that is read elsewhere',
    source:
      'Cohere (`billed_units`, `tokens`); xAI (`context_details`); AWS and Mistral in their own spellings; new-api',
    names:
      /^((input|output|prompt|completion|total|cached|reasoning|text)_?tokens|(input|output|total|cacheRead\w*|cacheWrite\w*)Tokens?(Count)?|cache_(read|creation)_input_tokens|cached_content_token_count|prompt_cache_(hit|miss)_tokens|thinking_tokens|claude_cache_creation_5_m_tokens)$/i,
    isPart: true,
  },
  {
    why: 'a use of a tool or a search',
    source:
      'xAI (`server_side_tool_usage_details`); OpenRouter (`server_tool_use`); Perplexity (`num_search_queries`)',
    names: /_(calls|requests|queries|tools_used)$|^citation_tokens$/,
    isInReportedCost: true,
  },
]

/** Maximum depth to which a usage is read. */
const MAX_DEPTH = 8

/**
 * Returns true if a member among `members` of a usage has a number that may cost something of its own, at any depth.
 * `isReported`: the provider reports the cost.
 */
export function mayCost(members: Json, usage: Json, isReported: boolean): boolean {
  let most = 0
  for (const each of Object.values(usage)) if (typeof each === 'number' && each > most) most = each
  const mayBe = (name: string, value: unknown, depth: number): boolean => {
    if (isObject(value) || Array.isArray(value))
      return (
        depth >= MAX_DEPTH ||
        Object.entries(value).some(([inner, each]) =>
          mayBe(Array.isArray(value) ? name : inner, each, depth + 1),
        )
      )
    const count = typeof value === 'string' && /token/i.test(name) ? Number(value) : value
    if (typeof count !== 'number' || !count) return false
    return !NUMBERS.some(
      ({ names, isPart, isInReportedCost }) =>
        names.test(name) && (!isPart || count <= most) && (!isInReportedCost || isReported),
    )
  }
  return Object.entries(members).some(([name, value]) =>
    mayBe(name.slice(name.lastIndexOf('.') + 1), value, 0),
  )
}
