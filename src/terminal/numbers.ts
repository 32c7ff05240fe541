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

/**
 * Formats an amount: `$0.000365`, `$0.0123`, `$0.50`, `$12.34`, `$1,234`. Equal amounts have the same text
 * everywhere. Amounts below a dollar have three significant digits, down to a millionth. `≥ ` marks an
 * incomplete amount.
 */
export function dollars(usd: number, isMinimum = false): string {
  if (isMinimum) return `≥ ${usd < SMALLEST ? '$0' : dollars(usd)}`
  if (usd === 0) return '$0'
  if (usd < SMALLEST) return '<$0.000001'
  if (usd >= 999.5) return `$${grouped(usd)}`
  if (usd >= 0.9995) return `$${usd.toFixed(2)}`
  const digits = Math.min(6, Math.max(2, 2 - Math.floor(Math.log10(usd))))
  return `$${usd.toFixed(digits).replace(/(\.\d\d\d*?)0+$/, '$1')}`
}

export const formatCount = (tokens: number): string =>
  tokens < 1000 ? `${tokens}` : `${(tokens / 1000).toFixed(1)}k`
