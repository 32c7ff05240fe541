// Findings about the state of the gateway, as sentences for `waybill doctor` and the page. Pure; uses only
// the configuration and its arguments.
import { type Config, routedModels } from '../config/load.ts'
import { createPricer, NEWER_PRICES, PRICE_TABLE, pricingOf } from '../pricing/pricing.ts'
import { clock } from '../shared/clock.ts'
import { priceLine } from './budget.ts'
import { modelEnds } from './model-ends.ts'

export interface Finding {
  /** `note`: useful to know, but nothing to repair. */
  readonly verdict: 'ok' | 'note' | 'BAD'
  /** The finding and, if something is wrong, what to do. */
  readonly text: string
}

/** Used share of a cap above which the coming deletion of the oldest calls is reported. */
const CAP_WARNING_SHARE = 0.9
const MIB = 2 ** 20

/** Fill level of one retention cap. */
interface Fill {
  readonly name: 'rows' | 'days' | 'bytes'
  readonly have: number
  readonly cap: number
}

/** Reports the fill levels of the record. `running`: true if a running gateway deletes the excess. */
export function fillFindings(fills: readonly Fill[], running: boolean): Finding[] {
  const told = fills.map(({ name, have, cap }) => {
    const size = name === 'bytes' ? MIB : 1
    const unit = { rows: 'calls', days: 'days', bytes: 'MiB in use' }[name]
    return { name, have, cap, text: `${short(have / size)} of ${short(cap / size)} ${unit}` }
  })
  return [
    { verdict: 'ok', text: `on record: ${told.map(({ text }) => text).join(', ')}` },
    ...told
      .filter(({ have, cap }) => have >= cap * CAP_WARNING_SHARE)
      .map(({ name, have, cap, text }): Finding => {
        const setting = `retention.${name}`
        if (have <= cap)
          return {
            verdict: 'note',
            text: `${text}: the oldest calls will soon be deleted; raise ${setting} to keep more`,
          }
        return {
          verdict: 'note',
          text: running
            ? `${text}: the oldest calls are being deleted; raise ${setting} to keep more, or restart if it was lowered`
            : `${text}: the next start deletes the oldest calls; raise ${setting} before then to keep them`,
        }
      }),
  ]
}

/** Formats a number as the page does: three digits or all before the point, and groups of thousands. */
const short = (value: number): string =>
  (value < 100 ? Number(value.toPrecision(3)) : Math.round(value)).toLocaleString('en')

/** Age in days at which prices count as old, because a newer table may contain newer models. */
export const OLD_PRICES_DAYS = 60
const DAY = 86_400_000

/** Reports the models that end soon or have ended. */
export const endFindings = (config: Config, now = clock.now()): Finding[] =>
  modelEnds(config, now).map(({ text }) => ({ verdict: 'note', text: `${text}; route its calls elsewhere` }))

/** Reports the age of the built-in prices, and the targets for which the cost will be null. */
export function priceFindings(config: Config, now = clock.now()): Finding[] {
  const { version, date } = NEWER_PRICES
  const days = Math.floor((now - Date.parse(date)) / DAY)
  const of = `the built-in prices are ${days} days old (${PRICE_TABLE.name} ${version}, ${date})`
  const age: Finding =
    days <= OLD_PRICES_DAYS
      ? { verdict: 'ok', text: of }
      : {
          verdict: 'note',
          text: `${of}; a newer Waybill may know newer models, and \`prices\` can set your own`,
        }
  const price = createPricer(pricingOf(config))
  const one = { input: 1, output: 1, cached_input: null, cache_write: null, reasoning: null }
  const unknown = routedModels(config).filter((id) => {
    const slash = id.indexOf('/')
    return price({ provider: id.slice(0, slash), model: id.slice(slash + 1) }, one, now).usd === null
  })
  return [
    age,
    ...unknown.map(
      (id): Finding => ({
        verdict: 'note',
        text: `no price is known for ${id}, so its cost is recorded as null; to change that, write under models: ${priceLine(id)}`,
      }),
    ),
  ]
}
