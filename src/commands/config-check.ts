// `waybill config check`: reports every problem with its line, or a summary of the configuration. Warns about
// settings that are allowed but may surprise.
import { type Config, loadConfig, routedModels } from '../config/load.ts'
import { priceLine } from '../core/budget.ts'
import { createPricer, pricingOf } from '../pricing/pricing.ts'
import { complain, print } from './output.ts'

interface ConfigCheckOptions {
  readonly config: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Throws ConfigError. */
export function configCheck({ config: file, env }: ConfigCheckOptions): void {
  const { config } = loadConfig(file, { env })
  const count = (things: object, one: string) =>
    `${Object.keys(things).length} ${one}${Object.keys(things).length === 1 ? '' : 's'}`
  for (const warning of warnings(config)) complain(`${file}: warning: ${warning}`)
  print(
    `${file}: ok, ${count(config.providers, 'provider')}, ${count(config.routes, 'route')}, ${count(config.keys, 'key')}`,
  )
}

function warnings(config: Config): string[] {
  return Object.keys(config.providers).length === 0
    ? ['there are no providers, so every call is refused; name one under providers']
    : [...unpricedWarnings(config), ...sessionWarnings(config)]
}

/** Warns about keys that only a budget of a session limits. */
const sessionWarnings = ({ keys }: Config): string[] =>
  keys
    .filter(({ budget = [] }) => budget.length > 0 && budget.every(({ per }) => per === 'session'))
    .map(
      ({ name }) =>
        `the key ${name} has a budget per session only, so it limits nobody who sends no session or a new one; add one per day, week or month`,
    )

/** Warns about models without a price. A budget counts costs, so it does not count calls to these models. */
function unpricedWarnings(config: Config): string[] {
  const limited = config.keys.filter(({ budget }) => budget).map(({ name }) => name)
  if (limited.length === 0) return []
  const price = createPricer(pricingOf(config))
  const one = { input: 1, output: 1, cached_input: null, cache_write: null, reasoning: null }
  const priced = (id: string) => {
    const slash = id.indexOf('/')
    const target = { provider: id.slice(0, slash), model: id.slice(slash + 1) }
    return price(target, one, Date.now()).usd !== null
  }
  return routedModels(config)
    .filter((id) => !priced(id))
    .map(
      (id) =>
        `no price is known for ${id}, so it does not count towards the budget of ${limited.join(', ')}; write under models: ${priceLine(id)}`,
    )
}
