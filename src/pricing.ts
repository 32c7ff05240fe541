// Token counts -> US dollars, with the price that was used. Knows the price table and nothing else.
import { calcPrice, type ModelPrice, type Provider } from '@pydantic/genai-prices'
import { type Target, type Tokens, targetId } from './call.ts'

/** US dollars per million tokens, as `models.<id>.price` in the configuration. */
export interface OwnPrice {
  readonly input: number
  readonly output: number
  readonly cached_input?: number | undefined
  readonly cache_write?: number | undefined
}

/** What the configuration says that bears on prices. */
export interface Pricing {
  /** Provider name -> where its requests go; the price table knows providers by their address. */
  readonly baseUrls: Readonly<Record<string, string>>
  /** `provider/model` -> the operator's own price, which goes first. */
  readonly own: Readonly<Record<string, OwnPrice>>
}

export interface Cost {
  /** US dollars; null when the price or a needed count is not known. */
  readonly usd: number | null
  /** The price that was applied, in US dollars per million tokens, and where it is from. */
  readonly price: {
    readonly source: 'config' | 'genai-prices'
    readonly model: string
    readonly rates: ModelPrice
  } | null
}

const UNKNOWN: Cost = { usd: null, price: null }

/** The cost of an attempt that ended at `at` (ms since the epoch), for prices that change with the time. */
export type Pricer = (target: Pick<Target, 'provider' | 'model'>, tokens: Tokens | null, at: number) => Cost

/** A pricer remembers which entry of the price table a target has, so that a call costs microseconds. */
export function createPricer(pricing: Pricing): Pricer {
  const entries = new Map<string, Provider | null>()

  return (target, tokens, at) => {
    if (tokens?.input == null || tokens.output == null) return UNKNOWN
    const id = targetId(target)
    let entry = entries.get(id)
    if (entry === undefined) {
      entry = find(target, pricing)
      if (entries.size > 10_000) entries.clear() // direct ids are the clients' to choose
      entries.set(id, entry)
    }
    if (entry === null) return UNKNOWN
    const usage = {
      input_tokens: tokens.input,
      output_tokens: tokens.output,
      cache_read_tokens: tokens.cached_input ?? 0,
      cache_write_tokens: tokens.cache_write ?? 0,
    }
    try {
      const result = calcPrice(usage, target.model, { provider: entry, timestamp: new Date(at) })
      if (!result) return UNKNOWN
      const source = pricing.own[id] ? 'config' : 'genai-prices'
      return { usd: result.total_price, price: { source, model: result.model.id, rates: result.model_price } }
    } catch {
      return UNKNOWN // counts that contradict each other, such as more cached tokens than input
    }
  }
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
    const models = [{ id: model, match: { equals: model }, prices: rates }]
    return { id: provider, name: provider, api_pattern: '', models }
  }
  const nothing = { input_tokens: 0, output_tokens: 0 }
  const found =
    calcPrice(nothing, model, { providerApiUrl: baseUrls[provider] ?? '' }) ??
    calcPrice(nothing, model, { providerId: provider })
  return found && { ...found.provider, models: [{ ...found.model, match: { equals: model } }] }
}
