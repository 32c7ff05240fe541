// Formats durations, ages, amounts of money and token counts in few characters. Pure.

/** Formats a duration: `812 ms`, `4.2 s`, `3 min`. */
export const duration = (ms: number): string =>
  ms < 999.5
    ? `${Math.round(ms)} ms`
    : ms < 59_950
      ? `${(ms / 1000).toFixed(1)} s`
      : `${Math.round(ms / 60_000)} min`

/** Formats an age: `12 s ago`, `3 min ago`, `2 h ago`, `4 d ago`. */
export function ago(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? ['s', 1000]
  return `${Math.floor(Math.max(0, ms) / size)} ${unit} ago`
}

const UNITS: readonly [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
]

const SMALLEST = 0.000001

/** Rounds a number and separates its thousands. Loading `Intl` takes 24 ms of every status line. */
const grouped = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')

/** A cost of a call, an attempt or a sum, with the facts that decide how exact it is; named as in the record. */
export interface ShownCost {
  readonly cost_usd: number | null
  readonly cost_missing?: readonly string[] | null | undefined
  readonly cost_is_minimum?: boolean | null | undefined
  readonly cost_is_estimated?: boolean | undefined
  readonly tokens?: { readonly source?: unknown; readonly input?: unknown } | null | undefined
  /** The provider's own figure, which is no estimate. */
  readonly reported_usd?: number | null | undefined
}

/** Returns true if part of a cost is unknown. */
export const isMinimum = ({ cost_is_minimum, cost_missing }: Omit<ShownCost, 'cost_usd'>): boolean =>
  cost_is_minimum ?? (cost_missing ?? []).length > 0

/** Returns true if a cost is computed from estimated tokens. */
export const isEstimate = ({ cost_usd, cost_is_estimated, tokens, reported_usd }: ShownCost): boolean =>
  (cost_usd ?? 0) > 0 && (cost_is_estimated ?? (tokens?.source === 'estimated' && reported_usd == null))

/**
 * Formats a cost. `≥ ` marks a cost of which a part is unknown, `~` a cost computed from estimated tokens. Every place
 * that shows a cost uses this function.
 */
export function costText(cost: ShownCost, none = '-'): string {
  if (cost.cost_usd === null) return none
  const isLow = isMinimum(cost)
  const amount = isLow && cost.cost_usd < SMALLEST ? '$0' : dollars(cost.cost_usd)
  return `${isLow ? '≥ ' : ''}${isEstimate(cost) && amount !== '$0' ? '~' : ''}${amount}`
}

/** Formats an estimate: a cost that nothing has incurred. */
export const estimateText = (cost_usd: number | null, cost_is_minimum = false, none?: string): string =>
  costText({ cost_usd, cost_is_minimum, cost_is_estimated: true }, none)

/** Spending of a key, named as in the answers about keys. */
export interface ShownSpending {
  readonly spent_usd: number | null
  readonly spent_is_minimum?: boolean | null | undefined
  readonly estimated_usd?: number | null | undefined
}

/** Formats the spending of a key, with the marks of a cost. */
export const spentText = (
  { spent_usd, spent_is_minimum, estimated_usd }: ShownSpending,
  none?: string,
): string =>
  costText(
    {
      cost_usd: spent_usd,
      cost_is_minimum: spent_is_minimum,
      cost_is_estimated: (estimated_usd ?? 0) > 0,
    },
    none,
  )

/** Formats an amount of which every digit matters, such as the rest of a budget or a line of a bill. */
export const exactDollars = (usd: number, digits = 9): string =>
  `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: digits, useGrouping: false })}`

/**
 * Formats an amount other than a cost, such as a limit or a price: `$0.000365`, `$0.0123`, `$0.50`, `$12.34`, `$1,234`.
 * Equal amounts have the same text everywhere. Amounts below a dollar have three significant digits, down to a
 * millionth.
 */
export function dollars(usd: number): string {
  if (usd === 0) return '$0'
  if (usd < SMALLEST) return '<$0.000001'
  if (usd >= 999.5) return `$${grouped(usd)}`
  if (usd >= 0.9995) return `$${usd.toFixed(2)}`
  const digits = Math.min(6, Math.max(2, 2 - Math.floor(Math.log10(usd))))
  return `$${usd.toFixed(digits).replace(/(\.\d\d\d*?)0+$/, '$1')}`
}

/** Formats a number of tokens, here and on the page: `812`, `13.2k`, `180k`, `4.2M`. */
export function formatCount(tokens: number): string {
  if (tokens < 1000) return `${tokens}`
  const [size, unit] = tokens < 999_500 ? [1_000, 'k'] : [1_000_000, 'M']
  return `${(tokens / size).toFixed(tokens < 99.95 * size ? 1 : 0)}${unit}`
}
