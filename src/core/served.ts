// Usage as served by a provider: all facts besides the token counts that determine the cost of a call. The dialects
// read them from the answer, src/pricing computes the price, and the record stores them in `usage`. Pure.

/** Parts of a call's recorded tokens, in the order of columns and exports. */
export const TOKEN_PARTS = ['input', 'output', 'cached_input', 'cache_write', 'reasoning', 'source'] as const

/** Kinds of tokens with separate prices. Each count is part of the input or output. */
export type TokenKind =
  | 'input_audio'
  | 'cached_audio'
  | 'output_audio'
  | 'input_image'
  | 'cached_image'
  | 'output_image'
  | 'input_video'
  | 'output_video'

/** Axes of a price: the tier, speed and region that served the call. */
export const AXES = ['service_tier', 'speed', 'region'] as const
export type Axis = (typeof AXES)[number]

/**
 * Problems with reported usage. `iterations`: the parts of the call do not add up, or one part is of an
 * unknown kind. `reported_usd`: the provider's figure is not an amount, or differs from the cost of the
 * tokens by more than a factor of two. `other`: unknown members were too large to store. `counts`: the counts do not add
 * up to the total, or became less during the answer; the larger ones are recorded. `unknown_usage`: a number that no axis
 * of the price explains.
 */
export type Doubt = 'iterations' | 'reported_usd' | 'other' | 'counts' | 'unknown_usage'

/** Token counts of a part of a call. */
export interface PartTokens {
  readonly input: number | null
  readonly output: number | null
  readonly cached_input: number | null
  readonly cache_write: number | null
  readonly cache_write_1h?: number | null
}

/** A part of one call, possibly served by another model. */
export interface Part {
  /** Model of this part; null for the requested model. */
  readonly model: string | null
  /** `message`, `compaction`, `advisor_message`, `fallback_message`, or another word from the provider. */
  readonly kind: string
  readonly tokens: PartTokens
  /** False for an attempt that a model declined before writing anything. */
  readonly billed: boolean
}

export interface Served {
  readonly service_tier?: string | null | undefined
  readonly speed?: string | null | undefined
  readonly region?: string | null | undefined
  /** The model that wrote the final answer, if different from the requested model. */
  readonly model?: string | null | undefined
  readonly kinds?: { readonly [Kind in TokenKind]?: number } | undefined
  /** Tokens written to a cache for twelve hours, included in `cache_write`. */
  readonly written_12h?: number | null | undefined
  /** Number of uses of the provider's own tools, by name. */
  readonly tools?: Readonly<Record<string, number>> | undefined
  /** Parts of the call, if it has more than one. */
  readonly parts?: readonly Part[] | undefined
  /** Cost of the call as reported by the provider, in US dollars. */
  readonly reportedUsd?: number | null | undefined
  /** True if the provider does not charge for the call, because the model refused before writing anything. */
  readonly uncharged?: true | undefined
  readonly doubts?: readonly Doubt[] | undefined
  /** Unknown members of the usage, unchanged. */
  readonly other?: Readonly<Record<string, unknown>> | undefined
}

/** Merges another report. The latest value of each member wins, and all doubts are kept. */
export function mergeServed(before: Served | undefined, now: Served | undefined): Served | undefined {
  if (before === undefined || now === undefined) return now ?? before
  const merged: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(now)) if (value != null) merged[name] = value
  const doubts = new Set([...(before.doubts ?? []), ...(now.doubts ?? [])])
  if (doubts.size > 0) merged.doubts = [...doubts]
  return merged
}

/** Maximum length of a recorded tier, speed, region or tool, in characters. A longer one is no word, but may be a key. */
const MAX_LABEL_LENGTH = 32

/**
 * Returns a provider's word for an axis in lower case. Null if it is missing or only says that the provider
 * may choose.
 */
export function label(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value === 'auto') return null
  if (value.length > MAX_LABEL_LENGTH) return 'too_long'
  return value.toLowerCase().replace(/[^\w.:-]/g, '_')
}

/** Recorded usage besides the token counts; null if there is none. */
export interface RecordUsage {
  readonly cache_write_1h?: number
  readonly cache_write_12h?: number
  readonly images?: number
  readonly input_audio?: number
  readonly cached_audio?: number
  readonly output_audio?: number
  readonly input_image?: number
  readonly cached_image?: number
  readonly output_image?: number
  readonly input_video?: number
  readonly output_video?: number
  /** Number of uses of each provider tool. */
  readonly tools?: Readonly<Record<string, number>>
  /** Parts of the call, possibly served by other models. */
  readonly parts?: readonly RecordPart[]
  /** True if the model refused before writing anything, so that nothing is charged. */
  readonly uncharged?: true
  readonly doubts?: readonly Doubt[]
  readonly other?: Readonly<Record<string, unknown>>
}

interface RecordPart extends PartTokens {
  readonly kind: string
  readonly model: string | null
  /** Cost of the part; 0 if it was declined and not billed. */
  readonly cost_usd: number | null
}

/** Returns the usage for the record; null if there are only token counts. */
export function recordUsage(
  tokens: {
    readonly cache_write_1h?: number | null
    readonly images?: number
    readonly served?: Served | undefined
  } | null,
  {
    parts: costs,
    reported,
  }: {
    readonly parts?: readonly (number | null)[]
    readonly reported?: { readonly usd: number; readonly priced: number | null }
  },
): RecordUsage | null {
  if (tokens === null) return null
  const { cache_write_1h: forHour, images, served } = tokens
  if (!forHour && images === undefined && served === undefined) return null
  const { kinds, tools, parts, uncharged, other, written_12h } = served ?? {}
  const isOff = reported !== undefined && reported.priced !== null && isFar(reported.usd, reported.priced)
  const doubts = isOff ? [...(served?.doubts ?? []), 'reported_usd' as const] : served?.doubts
  const usage: RecordUsage = {
    ...(forHour && { cache_write_1h: forHour }),
    ...(written_12h && { cache_write_12h: written_12h }),
    ...(images !== undefined && { images }),
    ...kinds,
    ...(tools && { tools }),
    ...(parts && {
      parts: parts.map(({ kind, model, tokens }, index) => ({
        kind,
        model,
        ...tokens,
        cost_usd: costs?.[index] ?? null,
      })),
    }),
    ...(uncharged && { uncharged }),
    ...(doubts && { doubts }),
    ...(other && { other }),
  }
  return Object.keys(usage).length === 0 ? null : usage
}

/** Returns true if one amount is more than twice the other. */
const isFar = (a: number, b: number): boolean => Math.max(a, b) > 2 * Math.min(a, b)
