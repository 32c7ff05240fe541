// Token counts -> US dollars, with the price that was used. Knows the price table and nothing else.
import { calcPrice, type ModelPrice, type PriceCalculation } from '@pydantic/genai-prices'
import type { Tokens } from './call.ts'

/** US dollars per million tokens, as `models.<id>.price` in the configuration. */
export interface OwnPrice {
  readonly input: number
  readonly output: number
  readonly cached_input?: number | undefined
  readonly cache_write?: number | undefined
}

/** Who is to be paid: the names in the routing table, where requests go, and the operator's own price if any. */
export interface PriceKey {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  readonly price: OwnPrice | null
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

/**
 * A pricer remembers which entry of the price table a target has, so that a call costs microseconds.
 * Prices that depend on the time of day are still chosen per call.
 */
export function createPricer(): (key: PriceKey, tokens: Tokens | null, at: number) => Cost {
  const entries = new Map<string, Pick<PriceCalculation, 'provider'> | null>()

  return (key, tokens, at) => {
    if (tokens?.input == null || tokens.output == null) return UNKNOWN
    const usage = {
      input_tokens: tokens.input,
      output_tokens: tokens.output,
      cache_read_tokens: tokens.cached_input ?? 0,
      cache_write_tokens: tokens.cache_write ?? 0,
    }
    const id = `${key.provider}/${key.model}`
    let entry = entries.get(id)
    if (entry === undefined) {
      entry = find(key)
      entries.set(id, entry)
    }
    if (entry === null) return UNKNOWN
    try {
      const result = calcPrice(usage, key.model, { provider: entry.provider, timestamp: new Date(at) })
      if (!result) return UNKNOWN
      const source = key.price ? 'config' : 'genai-prices'
      return { usd: result.total_price, price: { source, model: result.model.id, rates: result.model_price } }
    } catch {
      return UNKNOWN // counts that contradict each other, such as more cached tokens than input
    }
  }
}

/** The price table reduced to the one model of this target: by the operator, the address, or the provider's name. */
function find({ provider, model, baseUrl, price }: PriceKey): Pick<PriceCalculation, 'provider'> | null {
  if (price) {
    const rates: ModelPrice = { input_mtok: price.input, output_mtok: price.output }
    if (price.cached_input !== undefined) rates.cache_read_mtok = price.cached_input
    if (price.cache_write !== undefined) rates.cache_write_mtok = price.cache_write
    const models = [{ id: model, match: { equals: model }, prices: rates }]
    return { provider: { id: provider, name: provider, api_pattern: '', models } }
  }
  const probe = { input_tokens: 0, output_tokens: 0 }
  const found =
    calcPrice(probe, model, { providerApiUrl: baseUrl }) ?? calcPrice(probe, model, { providerId: provider })
  if (!found) return null
  return { provider: { ...found.provider, models: [{ ...found.model, match: { equals: model } }] } }
}
