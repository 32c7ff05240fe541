// Anthropic's `usage`. Its `input_tokens` excludes tokens read from or written to a cache; our `input`
// includes them. A stream reports usage in parts; each count is the total so far. The top level is not the
// whole bill: `iterations` lists more parts of the call, possibly served by other models.
import type { Tokens } from '../../core/call.ts'
import { type Doubt, label, mergeServed, type Part, type PartTokens, type Served } from '../../core/served.ts'
import { isObject, type Json, listOrEmpty, member, tokenCount } from '../json.ts'
import { positive, servedIn, unknownIn } from '../served.ts'

/** Counts as reported. */
export interface Usage {
  readonly input: number | null
  readonly cacheRead: number | null
  readonly cacheWrite: number | null
  /** Tokens written to the cache for an hour, included in `cacheWrite`. */
  readonly forHour: number | null
  readonly output: number | null
  readonly thinking: number | null
  readonly served?: Served | undefined
  readonly iterations?: readonly Iteration[]
}

/** An entry of `iterations`. */
interface Iteration {
  readonly kind: string
  readonly model: string | null
  readonly tokens: PartTokens
}

const countsOf = (usage: Json): Usage => ({
  input: tokenCount(usage.input_tokens),
  cacheRead: tokenCount(usage.cache_read_input_tokens),
  cacheWrite: tokenCount(usage.cache_creation_input_tokens) ?? writtenFor(usage.cache_creation),
  forHour: tokenCount(member(usage.cache_creation, 'ephemeral_1h_input_tokens')),
  output: tokenCount(usage.output_tokens),
  thinking: tokenCount(member(usage.output_tokens_details, 'thinking_tokens')),
})

export function usageOf(usage: Json): Usage {
  const { service_tier, speed, inference_geo, server_tool_use: uses, iterations } = usage
  const tools = isObject(uses) ? positive(withoutEnding(uses)) : undefined
  const served = servedIn(
    {
      service_tier: label(service_tier),
      speed: label(speed),
      region: label(inference_geo),
      ...(tools && { tools }),
    },
    unknownIn(usage, KNOWN),
    listOrEmpty(iterations).some((each) => isObject(each) && unknownIn(each, KNOWN_OF_PART).doubts)
      ? { doubts: ['unknown_usage'] }
      : {},
  )
  const listed = Array.isArray(iterations) ? iterations.filter(isObject).map(iterationOf) : undefined
  return { ...countsOf(usage), served, ...(listed && listed.length > 0 && { iterations: listed }) }
}

const KNOWN: ReadonlySet<string> = new Set([
  ...['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
  ...[
    'cache_creation.',
    'cache_creation.ephemeral_5m_input_tokens',
    'cache_creation.ephemeral_1h_input_tokens',
  ],
  ...['output_tokens_details.', 'output_tokens_details.thinking_tokens'],
  ...['service_tier', 'speed', 'inference_geo', 'server_tool_use', 'iterations'],
])

const KNOWN_OF_PART: ReadonlySet<string> = new Set([...KNOWN, 'type', 'model'])

/** Renames counts of tool uses from `web_search_requests` to `web_search`. */
const withoutEnding = (uses: Json): Json =>
  Object.fromEntries(
    Object.entries(uses).map(([name, count]) => [label(name)!.replace(/_requests$/, ''), count]),
  )

function iterationOf(entry: Json): Iteration {
  const { type, model } = entry
  const { tokens } = { tokens: tokensIn(countsOf(entry)) }
  return { kind: label(type) ?? 'unknown', model: typeof model === 'string' ? model : null, tokens }
}

/** Sums the tokens cached for five minutes and for an hour. Used if the total is not reported. */
function writtenFor(kinds: unknown): number | null {
  if (!isObject(kinds)) return null
  const counts = [kinds.ephemeral_5m_input_tokens, kinds.ephemeral_1h_input_tokens].map(tokenCount)
  return counts.every((each) => each === null)
    ? null
    : counts.reduce((sum: number, each) => sum + (each ?? 0), 0)
}

const COUNTS = ['input', 'cacheRead', 'cacheWrite', 'forHour', 'output', 'thinking'] as const

/**
 * Merges another report. Counts only grow: a zero at the end replaces nothing, and a count that is less than before is
 * a doubt.
 */
export function laterUsage(before: Usage | null, now: Usage): Usage {
  if (before === null) return now
  const counts = {} as Record<(typeof COUNTS)[number], number | null>
  let isLess = false
  for (const name of COUNTS) {
    const [was, is] = [before[name], now[name]]
    isLess ||= Boolean(is) && was !== null && is! < was
    counts[name] = was !== null && (is === null || is < was) ? was : is
  }
  const iterations = now.iterations ?? before.iterations
  const served = mergeServed(before.served, now.served)
  return {
    ...counts,
    served: isLess ? mergeServed(served, { doubts: ['counts'] }) : served,
    ...(iterations && { iterations }),
  }
}

/** Returns the tokens of all parts of a call, billed or not, with details of how they were served. */
export function tokensOf(usage: Usage, stopReason?: unknown): Tokens {
  const top = tokensIn(usage)
  const { parts, model, doubts } = partsOf(usage, top)
  // A refusal without any output is not charged.
  const isFree = stopReason === 'refusal' && usage.output === 0 && !parts
  const served = mergeServed(
    usage.served,
    servedIn({ parts, model, doubts, ...(isFree && { uncharged: true }) }),
  )
  const { input, output, cached_input, cache_write, cache_write_1h } = parts ? sumOf(parts) : top
  return {
    source: 'reported',
    input,
    output,
    cached_input,
    cache_write,
    reasoning: usage.thinking,
    ...(cache_write_1h != null && { cache_write_1h }),
    ...(served && { served }),
  }
}

const tokensIn = ({ input, cacheRead, cacheWrite, forHour, output }: Usage): PartTokens => ({
  input: input === null ? null : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
  output,
  cached_input: cacheRead,
  cache_write: cacheWrite,
  ...(forHour !== null && { cache_write_1h: forHour }),
})

const KINDS = ['message', 'compaction', 'advisor_message', 'fallback_message']

/**
 * Returns the billed parts of a call if there are more than the top level. Adds the fallback model that
 * answered.
 */
function partsOf(
  { iterations }: Usage,
  top: PartTokens,
): { parts?: Part[]; model?: string | null; doubts?: Doubt[] } {
  if (!iterations) return {}
  const of = (wanted: string) => iterations.filter(({ kind }) => kind === wanted)
  const strange = iterations.some(({ kind }) => !KINDS.includes(kind))
  const doubtful = { doubts: ['iterations'] satisfies Doubt[] }
  if (of('fallback_message').length === 0) {
    const messages = of('message')
    const adds =
      messages.length === 0 ||
      messages.reduce((sum, { tokens }) => sum + (tokens.output ?? 0), 0) === top.output
    const further = iterations.filter(({ kind }) => kind !== 'message')
    const parts = [{ kind: 'message', model: null, tokens: top }, ...further]
    return { ...(further.length > 0 && { parts: parts.map(billed) }), ...((strange || !adds) && doubtful) }
  }
  // The top level counts only the attempt that answered. An attempt without output was declined and is free.
  const attempts = iterations.filter(({ kind }) => kind === 'message' || kind === 'fallback_message')
  const last = attempts.findLast(({ tokens }) => tokens.output !== 0) ?? attempts.at(-1)!
  const parts = iterations.map((each) => ({
    ...billed(each),
    billed: !attempts.includes(each) || each.tokens.output !== 0,
  }))
  const isOff = last.tokens.output !== top.output
  return { parts, model: last.model, ...((strange || isOff) && doubtful) }
}

const billed = ({ kind, model, tokens }: Iteration): Part => ({ kind, model, tokens, billed: true })

/** Returns the sum of the parts, billed or not. Input or output is unknown if one billed part lacks the count. */
function sumOf(parts: readonly Part[]): PartTokens {
  const needed = (name: 'input' | 'output') =>
    parts.some(({ billed, tokens }) => billed && tokens[name] === null)
      ? null
      : parts.reduce((sum, { tokens }) => sum + (tokens[name] ?? 0), 0)
  const known = (name: 'cached_input' | 'cache_write' | 'cache_write_1h') => {
    const counts = parts.flatMap(({ tokens }) => tokens[name] ?? [])
    return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0)
  }
  return {
    input: needed('input'),
    output: needed('output'),
    cached_input: known('cached_input'),
    cache_write: known('cache_write'),
    cache_write_1h: known('cache_write_1h'),
  }
}
