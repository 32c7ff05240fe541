// Token counts -> US dollars, with the price that was used. Knows the price table and nothing else.
import { createRequire } from 'node:module'
import type { calcPrice as CalcPrice, ModelPrice, Provider } from '@pydantic/genai-prices'
import { type Target, type Tokens, targetId } from './call.ts'
import type { Config } from './config.ts'

/** The price table takes 15 MiB and some ms to load, so it is loaded when the first price is asked for. */
const load = createRequire(import.meta.url)
const calcPrice: typeof CalcPrice = (...args) =>
  (load('@pydantic/genai-prices') as { calcPrice: typeof CalcPrice }).calcPrice(...args)

/** Which prices these are. The date is that of the version; a test holds it against what is installed. */
export const PRICE_TABLE = { name: 'genai-prices', version: '0.1.8', date: '2026-09-23' } as const

/** US dollars per million tokens, as `models.<id>.price` in the configuration. */
export interface OwnPrice {
  readonly input: number
  readonly output: number
  readonly cached_input?: number | undefined
  readonly cache_write?: number | undefined
  readonly cache_write_1h?: number | undefined
  /** US dollars for each picture; tokens then cost nothing more. */
  readonly image?: number | undefined
}

/** What the configuration says that bears on prices. */
export interface Pricing {
  /** Provider name -> where its requests go; the price table knows providers by their address. */
  readonly baseUrls: Readonly<Record<string, string>>
  /** `provider/model` -> the operator's own price, which goes first. */
  readonly own: Readonly<Record<string, OwnPrice>>
}

/** The same, out of the configuration. */
export function pricingOf({ providers, models }: Pick<Config, 'providers' | 'models'>): Pricing {
  const baseUrls = Object.fromEntries(Object.entries(providers).map(([id, { base_url }]) => [id, base_url]))
  const own = Object.entries(models).flatMap(([id, { price }]) => (price ? [[id, price] as const] : []))
  return { baseUrls, own: Object.fromEntries(own) }
}

export interface Cost {
  /** US dollars; null when the price or a needed count is not known. */
  readonly usd: number | null
  /** The price that was applied, in US dollars per million tokens, and where it is from. */
  readonly price: {
    readonly source: 'config' | 'genai-prices'
    readonly model: string
    readonly rates: ModelPrice | { readonly image: number }
  } | null
}

const UNKNOWN: Cost = { usd: null, price: null }

/** The cost of an attempt that ended at `at` (ms since the epoch), for prices that change with the time. */
export type Pricer = (
  target: Pick<Target, 'provider' | 'model'>,
  tokens: Omit<Tokens, 'source'> | null,
  at: number,
) => Cost

/** What is remembered of a target: its entry in the price table, and its rates where they are always the same. */
interface Entry {
  readonly provider: Provider
  readonly flat: {
    readonly perToken: Record<'input' | 'cached' | 'written' | 'writtenForHour' | 'output', number>
    readonly price: Cost['price']
  } | null
}

/** A pricer remembers what it found for a target, so that a call costs a microsecond, not twenty. */
export function createPricer(pricing: Pricing): Pricer {
  const entries = new Map<string, Entry | null>()

  return (target, tokens, at) => {
    const image = pricing.own[targetId(target)]?.image
    if (image !== undefined) return costOfImages(target, image, tokens?.images)
    if (tokens?.input == null || tokens.output == null) return UNKNOWN
    const id = targetId(target)
    let entry = entries.get(id)
    if (entry === undefined) {
      const provider = find(target, pricing)
      entry = provider && {
        provider,
        flat: flatRates(provider, target.model, pricing.own[id] ? 'config' : 'genai-prices'),
      }
      if (entries.size > 10_000) entries.clear() // direct ids are the clients' to choose
      entries.set(id, entry)
    }
    if (entry === null) return UNKNOWN
    const { input, output, cached_input: cached, cache_write: written, cache_write_1h } = tokens
    const forHour = Math.min(cache_write_1h ?? 0, written ?? 0)
    const fresh = input - (cached ?? 0) - (written ?? 0)
    if (fresh < 0) return UNKNOWN // counts that contradict each other
    if (entry.flat) {
      const { perToken: rate, price } = entry.flat
      const usd =
        fresh * rate.input +
        (cached ?? 0) * rate.cached +
        ((written ?? 0) - forHour) * rate.written +
        forHour * rate.writtenForHour +
        output * rate.output
      return { usd, price }
    }
    return costOf(
      entry.provider,
      target.model,
      { input, output, cached: cached ?? 0, written: written ?? 0, forHour },
      new Date(at),
    )
  }
}

/** What a call of ordinary size costs at a target now, US dollars; null where its price is not known. */
export type Quote = (target: Pick<Target, 'provider' | 'model'>) => number | null

/** Three tokens read for each that is written, as in the field's comparisons of prices. */
const ORDINARY: Tokens = {
  source: 'estimated',
  input: 3_000,
  output: 1_000,
  cached_input: null,
  cache_write: null,
  reasoning: null,
}

/** How long a quote holds, ms: prices that change with the time of day do so by the hour. */
const QUOTE_HOLDS = 60_000

/** For comparing targets before a call. `now` in ms since the epoch. Remembers one quote for each target. */
export function createQuote(pricing: Pricing, now: () => number): Quote {
  const price = createPricer(pricing)
  const quotes = new Map<string, { readonly usd: number | null; readonly until: number }>()
  return (target) => {
    const id = targetId(target)
    const time = now()
    let quote = quotes.get(id)
    if (quote === undefined || quote.until <= time) {
      quote = { usd: price(target, ORDINARY, time).usd, until: time + QUOTE_HOLDS }
      quotes.set(id, quote)
    }
    return quote.usd
  }
}

interface Counts {
  readonly input?: number
  readonly output?: number
  readonly cached?: number
  readonly written?: number
  /** Of `written`. */
  readonly forHour?: number
}

const costOfImages = (target: Pick<Target, 'model'>, image: number, made: number | undefined): Cost =>
  made === undefined
    ? UNKNOWN
    : { usd: made * image, price: { source: 'config', model: target.model, rates: { image } } }

function costOf(
  provider: Provider,
  model: string,
  { input = 0, output = 0, cached = 0, written = 0, forHour = 0 }: Counts,
  timestamp: Date,
  source: 'config' | 'genai-prices' = 'genai-prices',
): Cost {
  const usage = {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    cache_write_tokens: written,
    cache_write_1h_tokens: forHour,
  }
  const result = calcPrice(usage, model, { provider, timestamp })
  return result
    ? { usd: result.total_price, price: { source, model: result.model.id, rates: result.model_price } }
    : UNKNOWN
}

/** The library's cost of a million of each kind, as a rate; null where a price has tiers or depends on the time. */
function flatRates(provider: Provider, model: string, source: 'config' | 'genai-prices'): Entry['flat'] {
  const prices = provider.models[0]!.prices
  if (Array.isArray(prices) || !Object.values(prices).every((rate) => typeof rate === 'number')) return null
  const million = 1_000_000
  const rate = (counts: Counts) => (costOf(provider, model, counts, new Date()).usd ?? 0) / million
  const perToken = {
    input: rate({ input: million }),
    output: rate({ output: million }),
    cached: rate({ input: million, cached: million }),
    written: rate({ input: million, written: million }),
    writtenForHour: rate({ input: million, written: million, forHour: million }),
  }
  return { perToken, price: costOf(provider, model, {}, new Date(), source).price }
}

/** The price table reduced to the one model of this target: by the operator, the address, or the provider's name. */
function find(
  { provider, model }: Pick<Target, 'provider' | 'model'>,
  { baseUrls, own }: Pricing,
): Provider | null {
  const price = own[`${provider}/${model}`]
  if (price) {
    const rates: ModelPrice = { input_mtok: price.input, output_mtok: price.output }
    if (price.cached_input !== undefined) rates.cache_read_mtok = price.cached_input
    if (price.cache_write !== undefined) rates.cache_write_mtok = price.cache_write
    if (price.cache_write_1h !== undefined) rates.cache_write_1h_mtok = price.cache_write_1h
    const models = [{ id: model, match: { equals: model }, prices: rates }]
    return { id: provider, name: provider, api_pattern: '', models }
  }
  const nothing = { input_tokens: 0, output_tokens: 0 }
  const found =
    calcPrice(nothing, model, { providerApiUrl: baseUrls[provider] ?? '' }) ??
    calcPrice(nothing, model, { providerId: provider })
  return found && { ...found.provider, models: [{ ...found.model, match: { equals: model } }] }
}
