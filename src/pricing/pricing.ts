// Converts token counts to US dollars, with the applied price. Knows the price table and nothing else.
import { createRequire } from 'node:module'
import type { calcPrice as CalcPrice, ModelPrice, Provider } from '@pydantic/genai-prices'
import type { Config } from '../config/load.ts'
import { type Target, type Tokens, targetId } from '../core/call.ts'

/** The price table takes 15 MiB and some ms to load, so it is loaded for the first price. */
const load = createRequire(import.meta.url)
const calcPrice: typeof CalcPrice = (...args) =>
  (load('@pydantic/genai-prices') as { calcPrice: typeof CalcPrice }).calcPrice(...args)

/** Name, version and release date of the price table; a test checks them against the installed one. */
export const PRICE_TABLE = { name: 'genai-prices', version: '0.1.8', date: '2026-09-23' } as const

/** US dollars per million tokens, as in `models.<id>.price` of the configuration. */
export interface OwnPrice {
  readonly input: number
  readonly output: number
  readonly cached_input?: number | undefined
  readonly cache_write?: number | undefined
  readonly cache_write_1h?: number | undefined
  /** US dollars for each picture; tokens are then free. */
  readonly image?: number | undefined
}

/** Settings that affect prices. */
export interface Pricing {
  /** Maps each provider to its base URL; the price table knows providers by their address. */
  readonly baseUrls: Readonly<Record<string, string>>
  /** Maps `provider/model` to the operator's own price, which takes precedence. */
  readonly own: Readonly<Record<string, OwnPrice>>
}

/** Returns these settings of the configuration. */
export function pricingOf({ providers, models }: Pick<Config, 'providers' | 'models'>): Pricing {
  const baseUrls = Object.fromEntries(Object.entries(providers).map(([id, { base_url }]) => [id, base_url]))
  const own = Object.entries(models).flatMap(([id, { price }]) => (price ? [[id, price] as const] : []))
  return { baseUrls, own: Object.fromEntries(own) }
}

export interface Cost {
  /** Known part of the cost, US dollars; null if the price or a needed count is unknown. */
  readonly usd: number | null
  /** Parts missing from `usd`, in words for the record; empty if complete. */
  readonly missing: readonly string[]
  /** The applied price, in US dollars per million tokens, and its source. */
  readonly price: {
    readonly source: 'config' | 'genai-prices'
    readonly model: string
    readonly rates: ModelPrice | { readonly image: number }
  } | null
}

/** The provider did not report all counts that its price needs, or they contradict each other. */
export const UNKNOWN_USAGE: Cost = { usd: null, missing: ['usage'], price: null }
const UNKNOWN_PRICE: Cost = { usd: null, missing: ['price'], price: null }
const COMPLETE: Cost['missing'] = []

/** Returns the cost of an attempt that ended at `at` (ms since the epoch): some prices are timed. */
export type Pricer = (
  target: Pick<Target, 'provider' | 'model'>,
  tokens: Omit<Tokens, 'source'> | null,
  at: number,
) => Cost

/** Cached facts of a target: its entry in the price table, and its rates if they are constant. */
interface Entry {
  readonly provider: Provider
  readonly flat: {
    readonly perToken: Record<'input' | 'cached' | 'written' | 'writtenForHour' | 'output', number>
    readonly price: Cost['price']
  } | null
}

/** Caches the entry of each target, so that a call costs a microsecond, not twenty. */
export function createPricer(pricing: Pricing): Pricer {
  const entries = new Map<string, Entry | null>()

  return (target, tokens, at) => {
    const image = pricing.own[targetId(target)]?.image
    if (image !== undefined) return costOfImages(target, image, tokens?.images)
    if (tokens?.input == null || tokens.output == null) return UNKNOWN_USAGE
    const id = targetId(target)
    let entry = entries.get(id)
    if (entry === undefined) {
      const provider = find(target, pricing)
      entry = provider && {
        provider,
        flat: flatRates(provider, target.model, pricing.own[id] ? 'config' : 'genai-prices'),
      }
      if (entries.size > 10_000) entries.clear() // clients choose direct ids
      entries.set(id, entry)
    }
    if (entry === null) return UNKNOWN_PRICE
    const { input, output, cached_input: cached, cache_write: written, cache_write_1h } = tokens
    const forHour = Math.min(cache_write_1h ?? 0, written ?? 0)
    const fresh = input - (cached ?? 0) - (written ?? 0)
    if (fresh < 0) return UNKNOWN_USAGE // counts that contradict each other
    if (entry.flat) {
      const { perToken: rate, price } = entry.flat
      const usd =
        fresh * rate.input +
        (cached ?? 0) * rate.cached +
        ((written ?? 0) - forHour) * rate.written +
        forHour * rate.writtenForHour +
        output * rate.output
      return { usd, missing: COMPLETE, price }
    }
    return costOf(
      entry.provider,
      target.model,
      { input, output, cached: cached ?? 0, written: written ?? 0, forHour },
      new Date(at),
    )
  }
}

/** Returns the present cost of an ordinary call at a target, US dollars; null if its price is unknown. */
export type Quote = (target: Pick<Target, 'provider' | 'model'>) => number | null

/** Three input tokens for each output token, as in common price comparisons. */
const ORDINARY: Tokens = {
  source: 'estimated',
  input: 3_000,
  output: 1_000,
  cached_input: null,
  cache_write: null,
  reasoning: null,
}

/** Validity of a quote, ms: prices that change with the time of day do so by the hour. */
const QUOTE_VALID_MS = 60_000

/** Returns quotes for comparing targets. `now`: ms since the epoch. Caches one quote per target. */
export function createQuote(pricing: Pricing, now: () => number): Quote {
  const price = createPricer(pricing)
  const quotes = new Map<string, { readonly usd: number | null; readonly until: number }>()
  return (target) => {
    const id = targetId(target)
    const time = now()
    let quote = quotes.get(id)
    if (quote === undefined || quote.until <= time) {
      quote = { usd: price(target, ORDINARY, time).usd, until: time + QUOTE_VALID_MS }
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
  /** Part of `written`. */
  readonly forHour?: number
}

const costOfImages = (target: Pick<Target, 'model'>, image: number, made: number | undefined): Cost =>
  made === undefined
    ? UNKNOWN_USAGE
    : {
        usd: made * image,
        missing: COMPLETE,
        price: { source: 'config', model: target.model, rates: { image } },
      }

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
    ? {
        usd: result.total_price,
        missing: COMPLETE,
        price: { source, model: result.model.id, rates: result.model_price },
      }
    : UNKNOWN_PRICE
}

/** Returns the library's cost of a million tokens of each kind; null for tiered or timed prices. */
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

/** Returns the price table for this target's model: by the operator, the address, or the provider's name. */
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
  if (!found) return null
  const { provider: table } = found
  // The table matches some models by prefix. After a further slash it may be another model.
  const before = model.slice(0, Math.max(0, model.lastIndexOf('/')))
  if (before && calcPrice(nothing, before, { provider: table })) return null
  return { ...table, models: [{ ...found.model, match: { equals: model } }] }
}
