// `waybill routes [MODEL]`: the routing table as it would be used now; reads the configuration and nothing else.
import { type Config, loadConfig } from '../config.ts'
import { GatewayError } from '../errors.ts'
import { createQuote, pricingOf, type Quote } from '../pricing.ts'
import { createRouter, type Resolution } from '../routing/router.ts'
import { compileRules } from '../routing/rules.ts'

export interface RoutesOptions {
  readonly model?: string
  readonly config: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Throws ConfigError, or GatewayError `model_not_found`. */
export function routes({ model, config: file, json, env }: RoutesOptions): void {
  const { config } = loadConfig(file, { env, replay: true })
  const router = createRouter(config, { now: Date.now, random: Math.random })
  const quote = createQuote(pricingOf(config), Date.now)
  const names = model === undefined ? Object.keys(config.routes) : [model]
  const found = names.map((name) => {
    const resolution = router.resolve(name)
    if (!resolution)
      throw new GatewayError('model_not_found', `${file} has no route and no provider for "${name}"`)
    return resolution
  })
  const text = json
    ? JSON.stringify(found, null, 2)
    : found.map((each) => table(each, config, quote)).join('\n\n')
  process.stdout.write(`${text}\n`)
}

function table(
  { model, route, strategy, candidates, depends_on }: Resolution,
  config: Config,
  quote: Quote,
): string {
  const rows = candidates.map((candidate) => [
    `  ${candidate.provider}/${candidate.model}`,
    candidate.tier ?? '-',
    `${Math.round(candidate.probability * 100)} %`,
    ...(strategy === 'cheapest' ? [priceOf(quote(candidate))] : []),
  ])
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map(([target, tier, chance, ...price]) =>
    [target!.padEnd(widths[0]!), tier!.padEnd(widths[1]!), chance!.padStart(5), ...price].join('  '),
  )
  const { sticky, rules = [] } = (route !== null && config.routes[route]) || {}
  const said = compileRules(rules).map(({ label }, index) => {
    const { tier, target } = rules[index]!.use
    return `  ${label} → ${tier === undefined ? target : `tier ${tier}`}`
  })
  if (depends_on.length > 0)
    said.push(`  as for a first call in plain text; it depends on ${depends_on.join(', ')}`)
  const title = `${model}  (${strategy}${sticky ? `, sticky: ${sticky}` : ''})`
  return [title, ...lines, ...said].join('\n')
}

/** The ordinary call of a quote has 4,000 tokens. */
const priceOf = (usd: number | null): string =>
  usd === null ? 'price unknown' : `$${(usd * 250).toFixed(2)} a million tokens`
