// Sums of calls. One definition serves both the stored sums of hours and sessions and the sums computed from
// rows. Pure; knows a row's columns, but no SQL.
import { roundUsd } from '../../core/money.ts'

/** Columns of `call_logs` whose known values are summed. */
const SUMMED = [
  'tokens_input',
  'tokens_output',
  'tokens_cached_input',
  'tokens_cache_write',
  'tokens_reasoning',
  'cost_usd',
  'saved_usd',
  'flat_usd',
  'cache_lost',
] as const

/**
 * Counts of calls. `failed` includes the `aborted` calls; `cost_partial` counts incomplete costs, `cost_estimated`
 * costs of estimated tokens.
 */
const COUNTED = ['calls', 'failed', 'fell_back', 'aborted', 'cost_partial', 'cost_estimated'] as const

/** The columns of a sum, in the order of its numbers. */
export const SUM_COLUMNS: readonly string[] = [
  ...COUNTED,
  ...SUMMED,
  ...SUMMED.map((name) => `${name}_known`),
]

/**
 * Numbers in the order of COLUMNS. The numbers are floating point, so that no provider's count can overflow
 * them.
 */
export type Sum = number[]

/** Columns of a row that are summed. */
export interface Summand {
  readonly state: string
  readonly fallbacks: number
  readonly tokens_input: number | null
  readonly tokens_output: number | null
  readonly tokens_cached_input: number | null
  readonly tokens_cache_write: number | null
  readonly tokens_reasoning: number | null
  readonly tokens_source: string | null
  readonly cost_usd: number | null
  /** A list of words as JSON text. */
  readonly cost_missing: string | null
  /** The provider's own figure, which is no estimate. */
  readonly reported_usd: number | null
  readonly saved_usd: number | null
  readonly flat_usd: number | null
  readonly cache_lost: number | null
}

/** The columns of `call_logs` that a Summand needs, for a SELECT or RETURNING. */
export const SUMMAND = [
  'state',
  'fallbacks',
  'cost_missing',
  'tokens_source',
  'reported_usd',
  ...SUMMED,
].join(', ')

export const emptySum = (): Sum => new Array<number>(SUM_COLUMNS.length).fill(0)

/** Index of the first counter of known values. */
const KNOWN = COUNTED.length + SUMMED.length

/** Adds a call to a sum, or subtracts it with `sign` -1. */
export function add(sum: Sum, row: Summand, sign: 1 | -1 = 1): void {
  sum[0]! += sign
  if (row.state === 'failed' || row.state === 'aborted' || row.state === 'interrupted') sum[1]! += sign
  if (row.fallbacks > 0) sum[2]! += sign
  if (row.state === 'aborted') sum[3]! += sign
  if (row.cost_usd !== null && row.cost_missing !== null && row.cost_missing !== '[]') sum[4]! += sign
  if (row.tokens_source === 'estimated' && row.reported_usd === null && (row.cost_usd ?? 0) > 0)
    sum[5]! += sign
  for (let index = 0; index < SUMMED.length; index++) {
    const value = row[SUMMED[index]!]
    if (value === null) continue
    sum[COUNTED.length + index]! += sign * value
    sum[KNOWN + index]! += sign
  }
}

export function merge(sum: Sum, other: Sum): void {
  for (let index = 0; index < sum.length; index++) sum[index]! += other[index]!
}

export function total(groups: readonly { readonly sum: Sum }[]): Sum {
  const all = emptySum()
  for (const { sum } of groups) merge(all, sum)
  return all
}

export const calls = (sum: Sum): number => sum[0]!
/** Returns the number of calls that failed or were interrupted, except those that the client aborted. */
export const failedCalls = (sum: Sum): number => sum[1]! - sum[3]!
export const abortedCalls = (sum: Sum): number => sum[3]!
export const fellBack = (sum: Sum): number => sum[2]!

/** Returns the sum of known values; null if there were calls but none with a known value. */
function known(sum: Sum, name: (typeof SUMMED)[number]): number | null {
  const index = SUMMED.indexOf(name)
  return sum[0]! > 0 && sum[KNOWN + index] === 0 ? null : sum[COUNTED.length + index]!
}

const usd = (sum: Sum, name: 'cost_usd' | 'saved_usd' | 'flat_usd'): number | null => {
  const amount = known(sum, name)
  return amount === null ? null : roundUsd(amount)
}
/**
 * Returns the known cost of calls, and the number of calls whose cost is missing or partial. Open calls
 * count.
 */
export function costsOf(sum: Sum) {
  const incomplete = sum[0]! - sum[KNOWN + SUMMED.indexOf('cost_usd')]! + sum[4]!
  return {
    cost_usd: usd(sum, 'cost_usd'),
    cost_is_minimum: incomplete > 0,
    cost_is_estimated: sum[5]! > 0,
    calls_without_cost: incomplete,
    flat_usd: usd(sum, 'flat_usd') ?? 0,
  }
}
/** Returns the cost saved by cache hits; 0 if there were none. */
export const savedOf = (sum: Sum): number => usd(sum, 'saved_usd') ?? 0

/** Returns the cached tokens lost by moves to another target, and the number of calls that moved. */
export const cacheLostIn = (sum: Sum) => ({
  cache_lost: known(sum, 'cache_lost') ?? 0,
  moved: sum[KNOWN + SUMMED.indexOf('cache_lost')]!,
})

export const tokensInSum = (sum: Sum) => ({
  input: known(sum, 'tokens_input'),
  output: known(sum, 'tokens_output'),
  cached_input: known(sum, 'tokens_cached_input'),
  cache_write: known(sum, 'tokens_cache_write'),
  reasoning: known(sum, 'tokens_reasoning'),
})
