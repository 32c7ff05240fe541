// `waybill models prices`: shows what is priced, and from where. Reads the configuration and the tables only.
import { configuredModels, loadConfig } from '../config/load.ts'
import { priceLine } from '../core/budget.ts'
import { createPricer, pricedModels, priceOrigin, pricingOf } from '../pricing/pricing.ts'
import { clock } from '../shared/clock.ts'
import { table } from '../terminal/table.ts'
import { complain, print, json as toJson } from './output.ts'
import { UsageError } from './usage-error.ts'

interface PricesOptions {
  readonly filter?: string | undefined
  readonly config: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

type Rates = Readonly<Record<string, unknown>>

const ONE = { input: 1, output: 1, cached_input: null, cache_write: null, reasoning: null, images: 1 }
const HEADER = ['MODEL', 'INPUT', 'CACHED', 'OUTPUT', 'FROM']

/** Prints the prices. Rejects with ConfigError, or with UsageError if no model matches. */
export async function printPrices({ filter, config: file, json, env }: PricesOptions): Promise<void> {
  const { config } = loadConfig(file, { env, replay: true })
  const pricing = pricingOf(config)
  const price = createPricer(pricing)
  const now = clock.now()
  const listed =
    filter === undefined
      ? []
      : Object.keys(config.providers).flatMap((name) =>
          pricedModels(name, pricing).map((model) => `${name}/${model}`),
        )
  const ids = [...new Set([...configuredModels(config), ...listed])]
    .filter((id) => id.toLowerCase().includes(filter?.toLowerCase() ?? ''))
    .toSorted()
  if (ids.length === 0 && filter !== undefined)
    throw new UsageError(
      `no price is known for a model with ${JSON.stringify(filter)} in its name at ${Object.keys(config.providers).join(', ')}`,
    )
  const found = ids.map((id) => {
    const slash = id.indexOf('/')
    const target = { provider: id.slice(0, slash), model: id.slice(slash + 1) }
    const cost = price(target, ONE, now)
    const rates: Rates | null = cost.price?.rates ?? null
    return {
      model: id,
      billing: cost.flat ? 'flat' : 'metered',
      rates,
      source: rates && priceOrigin(target, pricing, now),
    }
  })
  if (json) {
    print(toJson(found, 2))
    return
  }
  const rows = found.map(({ model, rates, source, billing }) => [
    model,
    ...(rates
      ? [rateOf(rates, 'input_mtok'), rateOf(rates, 'cache_read_mtok'), rateOf(rates, 'output_mtok')]
      : ['?', '?', '?']),
    [
      source
        ? `${source.title}${source.date === null ? '' : `, ${source.date}`}`
        : `unknown; write under models: ${priceLine(model)}`,
      ...(billing === 'flat' ? ['paid by a subscription'] : []),
    ].join('; '),
  ])
  const columns = process.stdout.isTTY ? process.stdout.columns : null
  process.stdout.write(table([HEADER, ...rows], { columns, right: [1, 2, 3], shrink: ['FROM'] }))
  complain(
    'US dollars per million tokens, now. `waybill models prices PART` lists all models with this part in their name',
  )
}

/** Returns a rate as text; with `+` if it rises with the length of the input. */
function rateOf(rates: Rates, name: string): string {
  if ('image' in rates) return name === 'output_mtok' ? `${rates.image} a picture` : ''
  const rate = rates[name]
  if (typeof rate === 'number') return String(rate)
  return typeof rate === 'object' && rate !== null && 'base' in rate ? `${rate.base}+` : ''
}
