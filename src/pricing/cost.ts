// The cost of an attempt as a value, with its parts. Contains no prices.
import type { ModelPrice } from '@pydantic/genai-prices'
import type { Config } from '../config/load.ts'
import type { PartTokens, Served } from '../core/served.ts'

/** US dollars per million tokens, as in `models.<id>.price` of the configuration. */
export type OwnPrice = NonNullable<Config['models'][string]['price']>

/** Token counts needed for a price. */
export type PricedTokens = PartTokens & { readonly served?: Pick<Served, 'kinds'> | undefined }

export interface Cost {
  /** Known part of the cost, US dollars; null if the price or a needed count is unknown. */
  readonly usd: number | null
  /** Parts missing from `usd`, in words for the record; empty if complete. */
  readonly missing: readonly string[]
  /** The applied price, in US dollars per million tokens, and its source. */
  readonly price: {
    readonly source: 'config' | 'genai-prices' | 'waybill'
    readonly model: string
    readonly rates: ModelPrice | { readonly image: number }
    /** Factors of tier, speed and region by which the rates were multiplied. */
    readonly factors?: Readonly<Record<string, number>>
    /** Fees for one use of the provider's tools, US dollars. */
    readonly fees?: Readonly<Record<string, number>>
  } | null
  /** True if a subscription covers the attempt. `usd` is then the list price, and nothing is paid. */
  readonly flat?: true
  /**
   * The provider's own figure, which is then `usd`, and the cost computed from the tokens. The computed cost
   * is null if no price is known.
   */
  readonly reported?: { readonly usd: number; readonly priced: number | null }
  /** Costs of the parts of the call, in the order of `Served.parts`; null if unknown, 0 if not billed. */
  readonly parts?: readonly (number | null)[]
}

/** Cost if counts that the price needs are missing or contradict each other. */
export const UNKNOWN_USAGE: Cost = { usd: null, missing: ['usage'], price: null }
