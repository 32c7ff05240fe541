// Describes a price in lines for people: the charged unit, the amount, and the quantity. Reads the formats of
// the price table (`genai-prices`) and of the configuration. Pure.
import type { CallRecord } from '../../core/record.ts'
import * as format from '../format.ts'

interface Rate {
  /** The billed unit. */
  readonly kind: string
  /** The price as text. */
  readonly text: string
}

/** Charged units, by the end of a rate's name. */
const UNITS: readonly (readonly [end: RegExp, unit: string])[] = [
  [/_mtok$/, 'per million tokens'],
  [/_kpages$/, 'per thousand pages'],
  [/_kcount$/, 'per thousand'],
  [/_hours$/, 'per hour'],
  [/^(?=image$)/, 'per picture'],
]

export function ratesOf(rates: NonNullable<CallRecord['price']>['rates']): Rate[] {
  return Object.entries(rates).flatMap(([name, rate]) => {
    if (rate === null || rate === undefined) return []
    const [end, unit] = UNITS.find(([each]) => each.test(name)) ?? [/$/, '']
    return [{ kind: name.replace(end, '').replaceAll('_', ' '), text: textOf(rate, unit) }]
  })
}

/** Describes the factors and the fees of a price. */
export function extrasOf({ factors = {}, fees = {} }: NonNullable<CallRecord['price']>): Rate[] {
  const named = (name: string) => name.replaceAll('_', ' ')
  return [
    ...Object.entries(factors).map(([name, factor]) => ({
      kind: named(name),
      text: `all rates × ${factor}`,
    })),
    ...Object.entries(fees).map(([name, usd]) => ({
      kind: named(name),
      text: `${format.usd(usd)} for each use`,
    })),
  ]
}

function textOf(rate: unknown, unit: string): string {
  if (typeof rate === 'number') return `${format.usd(rate)} ${unit}`.trim()
  const { base, tiers } = rate as { base?: unknown; tiers?: unknown }
  if (typeof base !== 'number' || !Array.isArray(tiers)) return JSON.stringify(rate) // format of a later price table
  const steps = (tiers as { start: number; price: number }[]).map(
    ({ start, price }) => `${format.usd(price)} if the input is longer than ${format.count(start)} tokens`,
  )
  return [`${format.usd(base)} ${unit}`.trim(), ...steps].join('; ')
}
