// Formats numbers, times, money and prices for people. Pure; shows a dash for an unknown value.

import type { CallRecord } from '../core/record.ts'
import {
  costText,
  dollars,
  estimateText,
  formatCount,
  type ShownCost,
  type ShownSpending,
  spentText,
} from '../terminal/numbers.ts'

const NONE = '–'
const plain = new Intl.NumberFormat('en')

export const count = (value: number | null | undefined): string =>
  value == null ? NONE : plain.format(value)
export const compact = (value: number | null | undefined): string =>
  value == null ? NONE : formatCount(value)

/** Describes the number of calls that a cost leaves out. */
export const withoutCost = ({ calls_without_cost: calls }: { calls_without_cost: number }): string =>
  calls === 0 ? '' : `${count(calls)} ${calls === 1 ? 'call' : 'calls'} not fully known`

/** Formats an amount other than a cost. */
export const usd = (value: number | null | undefined): string => (value == null ? NONE : dollars(value))

/** Formats the spending of a key, with the same marks. */
export const spent = (use: ShownSpending): string => spentText(use, NONE)

/** Formats a cost, or a sum of costs, with marks for an incomplete or estimated one. */
export const cost = (value: ShownCost): string => costText(value, NONE)

/** Formats an estimate. */
export const estimate = (usd: number, isMinimum?: boolean): string => estimateText(usd, isMinimum)

export function ms(value: number | null | undefined): string {
  if (value == null) return NONE
  if (value < 10) return `${Number(value.toFixed(1))} ms`
  if (value < 1_000) return `${Math.round(value)} ms`
  if (value < 60_000) return `${(value / 1_000).toFixed(value < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(value / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.round((value % 60_000) / 1_000)} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} days`
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return NONE
  if (value < 1_024) return `${value} B`
  const power = Math.min(4, Math.floor(Math.log2(value) / 10))
  return `${plain.format(Number((value / 1_024 ** power).toPrecision(3)))} ${' KMGT'[power]}iB`
}

export const percent = (share: number | null | undefined): string =>
  share == null ? NONE : `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`

/** Formats a time in the reader's zone, with the date only if it is not today. */
export function time(iso: string, now = Date.now(), withSeconds = true): string {
  const at = new Date(iso)
  const clock = at.toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(withSeconds && { second: '2-digit' }),
  })
  if (at.toDateString() === new Date(now).toDateString()) return clock
  return `${day(iso, now)} ${clock.slice(0, 5)}`
}

export function day(iso: string, now = Date.now()): string {
  const at = new Date(iso)
  const isThisYear = at.getFullYear() === new Date(now).getFullYear()
  return at.toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    ...(!isThisYear && { year: 'numeric' }),
  })
}

/** Formats a time in UTC, for a tooltip. */
export const utc = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC`

/** Returns the last part of an id, the part that differs between ids created at the same time. */
export const tail = (id: string, length = 8): string =>
  id.length > length + 2 ? `…${id.slice(-length)}` : id

/** A line of a price, of the price table (`genai-prices`) or of the configuration. */
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
    ...Object.entries(fees).map(([name, fee]) => ({
      kind: named(name),
      text: `${usd(fee)} for each use`,
    })),
  ]
}

function textOf(rate: unknown, unit: string): string {
  if (typeof rate === 'number') return `${usd(rate)} ${unit}`.trim()
  const { base, tiers } = rate as { base?: unknown; tiers?: unknown }
  if (typeof base !== 'number' || !Array.isArray(tiers)) return JSON.stringify(rate) // format of a later price table
  const steps = (tiers as { start: number; price: number }[]).map(
    ({ start, price }) => `${usd(price)} if the input is longer than ${count(start)} tokens`,
  )
  return [`${usd(base)} ${unit}`.trim(), ...steps].join('; ')
}
