// How long, how long ago, how much money, how many tokens: in few characters, for people. Pure.

/** `812 ms`, `4.2 s`, `3 min`. */
export const duration = (ms: number): string =>
  ms < 999.5
    ? `${Math.round(ms)} ms`
    : ms < 59_950
      ? `${(ms / 1000).toFixed(1)} s`
      : `${Math.round(ms / 60_000)} min`

/** `12 s ago`, `3 min ago`, `2 h ago`, `4 d ago`. */
export function ago(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? ['s', 1000]
  return `${Math.floor(Math.max(0, ms) / size)} ${unit} ago`
}

const UNITS: readonly [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
]

export const dollars = (cost: number): string =>
  cost === 0 ? '$0' : cost < 0.00005 ? '<$0.0001' : cost < 0.1 ? `$${cost.toFixed(4)}` : `$${cost.toFixed(2)}`

export const count = (tokens: number): string =>
  tokens < 1000 ? `${tokens}` : `${(tokens / 1000).toFixed(1)}k`
