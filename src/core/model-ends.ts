// Models that end soon or have ended, as their providers announced it. Knows dates and their sources, and names
// the configured models that they concern.
import { type Config, configuredModels } from '../config/load.ts'
import { PRESETS } from '../config/presets.ts'
import { type FactTable, factTableOf } from '../models/facts.ts'

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
