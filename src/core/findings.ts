// Findings about the state of the gateway, as sentences for `waybill doctor` and the page; among them the models that
// end soon or have ended, as their providers announced it. Pure; uses only the configuration and its arguments.
import { type Config, configuredModels, routedModels } from '../config/load.ts'
import { PRESETS } from '../config/presets.ts'
import { type FactTable, factTableOf } from '../models/facts.ts'
import { createPricer, NEWER_PRICES, PRICE_TABLE, pricingOf } from '../pricing/pricing.ts'
import { clock } from '../shared/clock.ts'
import { priceLine } from './budget.ts'

/** Time before the end of a model at which it is reported, in days. */
const NOTICE_DAYS = 60
const DAY_MS = 86_400_000

/** The announced end of a model. */
interface ModelEnd {
  /** provider/model of the configuration. */
  readonly id: string
  /** First day without the model (UTC). */
  readonly date: string
  readonly text: string
}

/**
 * Returns a function for the end of a model, null if it is unknown or further away than 60 days. `now`: ms since
 * the epoch.
 */
export function endsIn(config: Config): (id: string, now: number) => ModelEnd | null {
  const facts = factTableOf(config)
  return (id, now) => {
    const [provider = '', ...name] = id.split('/')
    const known = announced(facts, namesOf(provider, config), name.join('/'))
    if (!known) return null
    const { date, source } = known
    const days = Math.ceil((Date.parse(date) - now) / DAY_MS)
    if (days > NOTICE_DAYS) return null
    const when = days > 0 ? `ends on ${date}, in ${daysOf(days)}` : `ended on ${date}`
    return { id, date, text: `${id} ${when}, according to ${source}` }
  }
}

const daysOf = (days: number): string => (days === 1 ? 'a day' : `${days} days`)

/** Returns the ends of all models that the configuration names, each model once, the earliest first. */
export function modelEnds(config: Config, now: number): ModelEnd[] {
  const endOf = endsIn(config)
  return configuredModels(config)
    .flatMap((id) => endOf(id, now) ?? [])
    .toSorted((a, b) => a.date.localeCompare(b.date) || a.id.localeCompare(b.id))
}

/** Finds the end that the model's own provider announced. Another provider may serve the model for longer. */
function announced(facts: FactTable, providers: readonly string[], model: string) {
  const found = facts
    .statements(providers, model, null)
    .find(({ fact, unverified }) => fact === 'retires' && !unverified)
  if (!found) return null
  return { date: String(found.value), source: `${found.source} (${found.date})` }
}

/** Returns the names under which facts know a provider: its own, and the one of its address. */
function namesOf(provider: string, { providers }: Config): string[] {
  const host = hostOf(providers[provider]?.base_url)
  const preset = PRESETS.find(({ baseUrl }) => hostOf(baseUrl) === host)
  return preset ? [provider, preset.name] : [provider]
}

const hostOf = (url: string | undefined): string | null => (url === undefined ? null : new URL(url).host)

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
