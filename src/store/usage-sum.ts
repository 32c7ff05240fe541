// What calls add up to. One definition for every sum: what is kept per hour and per session, and what is summed
// up when they are read. Pure; knows a row's columns and nothing of SQL.

/** What is summed where it is known, by the names of its columns in `call_logs`. */
const SUMMED = [
  'tokens_input',
  'tokens_output',
  'tokens_cached_input',
  'tokens_cache_write',
  'tokens_reasoning',
  'cost_usd',
  'saved_usd',
] as const

/** The columns of a sum, in the order of its numbers. */
export const COLUMNS: readonly string[] = [
  'calls',
  'failed',
  'fell_back',
  ...SUMMED,
  ...SUMMED.map((name) => `${name}_known`),
]

/** Numbers in the order of COLUMNS. Sums are floating point, so no provider's count can overflow them. */
export type Sum = number[]

/** What of a row is summed. */
export interface Summand {
  readonly state: string
  readonly fallbacks: number
  readonly tokens_input: number | null
  readonly tokens_output: number | null
  readonly tokens_cached_input: number | null
  readonly tokens_cache_write: number | null
  readonly tokens_reasoning: number | null
  readonly cost_usd: number | null
  readonly saved_usd: number | null
}

/** The columns of `call_logs` that a Summand needs, for a SELECT or RETURNING. */
export const SUMMAND = ['state', 'fallbacks', ...SUMMED].join(', ')

export const emptySum = (): Sum => new Array<number>(COLUMNS.length).fill(0)

/** Adds a call to a sum, or takes it out again with `sign` -1. */
export function add(sum: Sum, row: Summand, sign: 1 | -1 = 1): void {
  sum[0]! += sign
  if (row.state === 'failed' || row.state === 'aborted' || row.state === 'interrupted') sum[1]! += sign
  if (row.fallbacks > 0) sum[2]! += sign
  for (let index = 0; index < SUMMED.length; index++) {
    const value = row[SUMMED[index]!]
    if (value === null) continue
    sum[3 + index]! += sign * value
    sum[3 + SUMMED.length + index]! += sign
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
export const failed = (sum: Sum): number => sum[1]!
export const fellBack = (sum: Sum): number => sum[2]!

/** The sum of what is known; null where calls were made and nothing is known of any. */
function known(sum: Sum, name: (typeof SUMMED)[number]): number | null {
  const index = SUMMED.indexOf(name)
  return sum[0]! > 0 && sum[3 + SUMMED.length + index] === 0 ? null : sum[3 + index]!
}

/** US dollars, without the dust that adding fractions leaves. */
const usd = (sum: Sum, name: 'cost_usd' | 'saved_usd'): number | null => {
  const amount = known(sum, name)
  return amount === null ? null : Math.round(amount * 1e12) / 1e12
}
export const costOf = (sum: Sum): number | null => usd(sum, 'cost_usd')
/** Calls that `costOf` leaves out: open ones too. */
export const withoutCost = (sum: Sum): number =>
  sum[0]! - sum[3 + SUMMED.length + SUMMED.indexOf('cost_usd')]!
/** What cache hits would have cost; 0 where there was none. */
export const savedOf = (sum: Sum): number => usd(sum, 'saved_usd') ?? 0

export const tokensOf = (sum: Sum) => ({
  input: known(sum, 'tokens_input'),
  output: known(sum, 'tokens_output'),
  cached_input: known(sum, 'tokens_cached_input'),
  cache_write: known(sum, 'tokens_cache_write'),
  reasoning: known(sum, 'tokens_reasoning'),
})
