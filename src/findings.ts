// What is found when one looks whether all is well, in words: for `waybill doctor`, and for the page. Pure; knows the
// configuration and what is handed over.
import type { Config } from './config.ts'
import { createPricer, pricingOf } from './pricing.ts'

export interface Finding {
  /** `note`: worth knowing, nothing to repair. */
  readonly verdict: 'ok' | 'note' | 'BAD'
  /** What was found, and where it is not well, what to do. */
  readonly text: string
}

/** From this part of a cap on it is told that the oldest calls go. */
const NEAR = 0.9
const MIB = 2 ** 20

/** How full one of the caps of retention is. */
interface Fill {
  readonly name: 'rows' | 'days' | 'bytes'
  readonly have: number
  readonly cap: number
}

/** How full the record is. `running`: a gateway is there that deletes what is too much. */
export function fillFindings(fills: readonly Fill[], running: boolean): Finding[] {
  const told = fills.map(({ name, have, cap }) => {
    const size = name === 'bytes' ? MIB : 1
    const unit = { rows: 'calls', days: 'days', bytes: 'MiB in use' }[name]
    return { name, have, cap, text: `${short(have / size)} of ${short(cap / size)} ${unit}` }
  })
  return [
    { verdict: 'ok', text: `on record: ${told.map(({ text }) => text).join(', ')}` },
    ...told
      .filter(({ have, cap }) => have >= cap * NEAR)
      .map(({ name, have, cap, text }): Finding => {
        const setting = `retention.${name}`
        if (have <= cap)
          return {
            verdict: 'note',
            text: `${text}: soon the oldest calls are deleted; raise ${setting} to keep more`,
          }
        return {
          verdict: 'note',
          text: running
            ? `${text}: the oldest calls are being deleted; raise ${setting} to keep more, or restart if it was lowered`
            : `${text}: the next start deletes the oldest calls; raise ${setting} before it to keep them`,
        }
      }),
  ]
}

/** Not more than one digit behind the point. */
const short = (value: number): string => String(Math.round(value * 10) / 10)

/** Targets whose cost will be null. */
export function priceFindings(config: Config): Finding[] {
  const price = createPricer(pricingOf(config))
  const one = { input: 1, output: 1, cached_input: null, cache_write: null, reasoning: null }
  const targets = new Set(
    Object.values(config.routes).flatMap((route) => route.targets.map(({ model }) => model)),
  )
  return [...targets]
    .filter((id) => {
      const slash = id.indexOf('/')
      return price({ provider: id.slice(0, slash), model: id.slice(slash + 1) }, one, Date.now()).usd === null
    })
    .map((id) => ({
      verdict: 'note',
      text: `no price is known for ${id}, so its cost is recorded as null; set models.${id}.price to change that`,
    }))
}
