// Reads the served usage of an answer: fields shared by OpenAI's dialects, and unknown members. A table names the
// numbers that cost nothing of their own; every other number that no axis of the price explains is a doubt. Belongs to
// no single dialect.
import type { Tokens } from '../core/call.ts'
import { type Doubt, label, mergeServed, type Served, type TokenKind } from '../core/served.ts'
import { isObject, type Json, listOrEmpty, member, tokenCount } from './json.ts'

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
function mayCost(members: Json, usage: Json, isReported: boolean): boolean {
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

/** Merges the given facts without empty values; undefined if nothing is left. */
export function servedIn(...found: readonly Served[]): Served | undefined {
  let served: Record<string, unknown> | undefined
  for (const each of found)
    for (const name in each) {
      const value = each[name as keyof Served]
      if (value === undefined || value === null) continue
      served ??= {}
      served[name] = name === 'doubts' ? [...((served[name] ?? []) as Doubt[]), ...(value as Doubt[])] : value
    }
  return served
}

/** Returns the counts above zero; undefined if there are none. */
export function positive<Name extends string>(
  counts: Readonly<Record<Name, unknown>>,
): Record<Name, number> | undefined {
  let some: Record<string, number> | undefined
  for (const name in counts) {
    const count = tokenCount(counts[name])
    if (!count) continue
    some ??= {}
    some[name] = count
  }
  return some
}

/** Maximum size of a usage's unknown members in the record, as JSON, in bytes. */
const MAX_OTHER_BYTES = 2_048

/**
 * Returns the members of `usage` with unknown names, and a doubt if one of them may cost something. A dot in a known
 * name separates a nested member. Null, zero and empty values are ignored.
 */
export function unknownIn(
  usage: Json,
  known: ReadonlySet<string>,
): { readonly other?: Readonly<Record<string, unknown>>; readonly doubts?: readonly Doubt[] } {
  let other: Record<string, unknown> | undefined
  const keep = (name: string, value: unknown) => {
    if (known.has(name)) return
    if (typeof value === 'object' && known.has(`${name}.`)) {
      for (const inner in value) {
        const part = (value as Json)[inner]
        if (part) keep(`${name}.${inner}`, part)
      }
    } else if (typeof value !== 'object' || Object.keys(value as object).length > 0) {
      other ??= {}
      other[name] = value
    }
  }
  for (const name in usage) if (usage[name]) keep(name, usage[name])
  if (other === undefined) return {}
  const unexplained = mayCost(other, usage, reportedIn(usage).reportedUsd !== undefined)
  const doubts: Doubt[] = unexplained ? ['unknown_usage'] : []
  if (Buffer.byteLength(JSON.stringify(other)) > MAX_OTHER_BYTES) return { doubts: [...doubts, 'other'] }
  return { other, ...(unexplained && { doubts }) }
}

/** Number of xAI ticks in a US dollar. */
const TICKS_PER_USD = 1e10
/** Maximum accepted cost of one call as reported by its provider, in US dollars. */
const MAX_REPORTED_USD = 100_000

/**
 * Returns the cost that the provider reported. xAI reports ticks, OpenRouter credits worth one dollar each, and
 * Perplexity a list with the total.
 */
export function reportedIn(usage: Json): Pick<Served, 'reportedUsd' | 'doubts'> {
  const { cost_in_usd_ticks: ticks, cost_details: details, is_byok: byok } = usage
  const cost = isObject(usage.cost) ? usage.cost.total_cost : usage.cost
  if (ticks == null && cost == null) return {}
  const upstream = byok === true ? (member(details, 'upstream_inference_cost') ?? 0) : 0
  const usd = ticks == null ? plus(cost, upstream) : plus(ticks, 0) / TICKS_PER_USD
  return usd >= 0 && usd <= MAX_REPORTED_USD ? { reportedUsd: usd } : { doubts: ['reported_usd'] }
}

const plus = (a: unknown, b: unknown): number =>
  typeof a === 'number' && typeof b === 'number' ? a + b : Number.NaN

/** Returns OpenAI's counts for audio and images. Chat and responses use different names for the details. */
export function kindsIn(
  input: unknown,
  output: unknown,
): { readonly [Kind in TokenKind]?: number } | undefined {
  const cached = member(input, 'cached_tokens_details')
  return positive({
    input_audio: member(input, 'audio_tokens'),
    cached_audio: member(cached, 'audio_tokens'),
    output_audio: member(output, 'audio_tokens'),
    input_image: member(input, 'image_tokens'),
    cached_image: member(cached, 'image_tokens'),
    output_image: member(output, 'image_tokens'),
  })
}

/** Tool names by type of OpenAI's output items, for tools with a fee. */
const BILLED_ITEMS: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  x_search_call: 'x_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_interpreter',
  image_generation_call: 'image_generation',
}

/** Returns the provider's tool that an output item used; null if the item is not charged. */
export function toolOf(item: unknown): string | null {
  const type = member(item, 'type')
  const tool = typeof type === 'string' ? BILLED_ITEMS[type] : undefined
  if (tool === undefined) return null
  // Opening a found page or finding a text on it does not count as a search.
  const action = member(member(item, 'action'), 'type')
  return tool === 'web_search' && action !== undefined && action !== 'search' ? null : tool
}

/**
 * Returns input and output that agree with the total. xAI leaves reasoning out of the output; others leave cached tokens
 * out of the input. Cached tokens beyond the input are a doubt. A rest without a known reason is billed as output, with a
 * doubt.
 */
function contradicted(
  {
    input,
    output,
    cached,
    reasoning,
  }: Readonly<Record<'input' | 'output' | 'cached' | 'reasoning', number | null>>,
  total: number | null,
): { readonly input: number | null; readonly output: number | null; readonly doubts?: readonly Doubt[] } {
  const isOff = input !== null && cached !== null && cached > input
  if (input === null || output === null || total === null || total <= input + output)
    return { input, output, ...(isOff && { doubts: ['counts'] }) }
  const missing = total - input - output
  if (missing === reasoning) return { input, output: output + missing }
  if (missing === cached && cached > input) return { input: input + missing, output }
  return { input, output: output + missing, doubts: ['counts'] }
}

/** Makes the tokens of an answer in OpenAI's dialects, whose usage has other names for the same counts. */
export function openAiTokens(
  usage: Json,
  answer: Json,
  counts: Parameters<typeof contradicted>[0],
  [input, output]: readonly [input: unknown, output: unknown],
): Tokens {
  const total = contradicted(counts, tokenCount(usage.total_tokens))
  const served = servedIn(
    {
      service_tier: tierIn(answer),
      kinds: kindsIn(input, output),
      tools: toolsIn(answer.output),
      doubts: total.doubts,
      written_12h: tokenCount(member(member(input, 'cache_write_tokens_details'), 'ttl_12h_tokens')) || null,
    },
    unknownIn(usage, KNOWN_TO_OPENAI),
    reportedIn(usage),
  )
  return {
    source: 'reported',
    input: total.input,
    output: total.output,
    cached_input: counts.cached,
    cache_write: writtenIn(usage, input),
    reasoning: counts.reasoning,
    ...(served && { served }),
  }
}

/** Returns the tokens written to a cache. Alibaba, Vercel and LiteLLM use Anthropic's names. */
const writtenIn = (usage: Json, input: unknown): number | null =>
  tokenCount(member(input, 'cache_write_tokens')) ??
  tokenCount(member(input, 'cache_creation_tokens')) ??
  tokenCount(member(input, 'cache_creation_input_tokens')) ??
  tokenCount(usage.cache_creation_input_tokens)

/** Counts the uses of the provider's own tools among output items; undefined if there are none. */
function toolsIn(output: unknown): Record<string, number> | undefined {
  let tools: Record<string, number> | undefined
  for (const item of listOrEmpty(output)) {
    const tool = toolOf(item)
    if (tool === null) continue
    tools ??= {}
    tools[tool] = (tools[tool] ?? 0) + 1
  }
  return tools
}

/** Returns the service tier of an answer in OpenAI's dialects. */
export const tierIn = (answer: Json): string | null => label(answer.service_tier)

const DETAILS = [
  'cached_tokens',
  ...['cache_write_tokens', 'cache_creation_tokens', 'cache_creation_input_tokens'],
  ...['cache_creation.', 'cache_creation.ephemeral_5m_input_tokens'],
  ...['cache_write_tokens_details.', 'cache_write_tokens_details.ttl_30m_tokens'],
  'cache_write_tokens_details.ttl_12h_tokens',
  ...['audio_tokens', 'text_tokens', 'image_tokens', 'video_tokens'],
  ...['cached_tokens_details.', 'cached_tokens_details.audio_tokens', 'cached_tokens_details.text_tokens'],
  'cached_tokens_details.image_tokens',
  'reasoning_tokens',
  'accepted_prediction_tokens',
  'rejected_prediction_tokens',
]
/** Known members of `usage` in OpenAI's dialects. A dot at the end marks a member with nested members. */
export const KNOWN_TO_OPENAI: ReadonlySet<string> = new Set([
  ...['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'total_tokens'],
  ...['prompt_cache_hit_tokens', 'prompt_cache_miss_tokens', 'cached_tokens', 'reasoning_tokens'],
  ...['cache_creation_input_tokens', 'cache_read_input_tokens'],
  ...['cost', 'cost_in_usd_ticks', 'cost_details', 'is_byok'],
  ...['queue_time', 'prompt_time', 'completion_time', 'total_time'],
  ...[
    'prompt_tokens_details',
    'completion_tokens_details',
    'input_tokens_details',
    'output_tokens_details',
    'input_token_details',
  ].flatMap((name) => [`${name}.`, ...DETAILS.map((detail) => `${name}.${detail}`)]),
])

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
