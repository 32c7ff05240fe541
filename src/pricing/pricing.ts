// Converts token counts to US dollars, with the applied price. Uses only the price table.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type {
  calcPrice as CalcPrice,
  findProvider as FindProvider,
  MatchLogic,
  ModelInfo,
  ModelPrice,
  Provider,
} from '@pydantic/genai-prices'
import type { Config } from '../config/load.ts'
import { type Target, type Tokens, targetId } from '../core/call.ts'
import type { Served, TokenKind } from '../core/served.ts'
import { packageTable } from '../models/facts.ts'
import { clock } from '../shared/clock.ts'
import { bareName, nameKey } from '../shared/model-names.ts'
import { packageFile } from '../shared/package-root.ts'
import { ownModels, ownRates, priceSource } from './axes.ts'
import { type Cost, type OwnPrice, type PricedTokens, UNKNOWN_USAGE } from './cost.ts'
import { type KnownNames, type NameOf, pricedName, servedCost, UNKNOWN_MODEL } from './served-cost.ts'

/** The price table takes 15 MiB and some ms to load, so it is loaded only for the first price. */
const load = createRequire(import.meta.url)
const table = () =>
  load('@pydantic/genai-prices') as { calcPrice: typeof CalcPrice; findProvider: typeof FindProvider }
const calcPrice: typeof CalcPrice = (...args) => table().calcPrice(...args)

/** Name, version and release date of the price table. A test compares them with the installed table. */
export const PRICE_TABLE = { name: 'genai-prices', version: '0.1.8', date: '2026-09-23' } as const

/**
 * Version of the newer edition of the table, whose rows take precedence, and the date of the newest check that
 * it names. A test compares them with newer-prices.jsonl.
 */
export const NEWER_PRICES = { version: '0.2.3', date: '2026-10-26' } as const

/** Settings that affect prices. */
interface Pricing {
  /** Base URL of each provider. The price table identifies providers by their address. */
  readonly baseUrls: Readonly<Record<string, string>>
  /** The operator's own prices by `provider/model`. These prices take precedence. */
  readonly own: Readonly<Record<string, OwnPrice>>
  /** Providers that are paid by a subscription. Their calls cost nothing more. */
  readonly flat?: ReadonlySet<string>
}

/** Returns the configuration's settings that affect prices. */
export function pricingOf({ providers, models }: Pick<Config, 'providers' | 'models'>): Pricing {
  const baseUrls = Object.fromEntries(Object.entries(providers).map(([id, { base_url }]) => [id, base_url]))
  const own = Object.entries(models).flatMap(([id, { price }]) => (price ? [[id, price] as const] : []))
  const flat = new Set(
    Object.entries(providers).flatMap(([id, { billing }]) => (billing === 'flat' ? [id] : [])),
  )
  return { baseUrls, own: Object.fromEntries(own), flat }
}

const UNKNOWN_PRICE: Cost = { usd: null, missing: ['price'], price: null }
const COMPLETE: Cost['missing'] = []

/**
 * Returns the cost of an attempt. `at`: end of the attempt, ms since the epoch, because some prices depend on
 * the time. `answered`: the model that the answer names, if it names one.
 */
export type Pricer = (
  target: Pick<Target, 'provider' | 'model'>,
  tokens: Omit<Tokens, 'source'> | null,
  at: number,
  answered?: string | null,
) => Cost

/** Source of a price, and its date; null for a price of the configuration. */
interface PriceOrigin {
  readonly title: string
  readonly date: string | null
}

/** Cached facts of a target: its entry in the price table, and its rates if they are constant. */
interface Entry {
  readonly provider: Provider
  /** Start and end of the entry's validity, ms since the epoch. */
  readonly from: number
  readonly until: number
  readonly source: NonNullable<Cost['price']>['source']
  readonly origin: PriceOrigin
  readonly flat: {
    readonly perToken: Record<'input' | 'cached' | 'written' | 'writtenForHour' | 'output', number>
    readonly price: Cost['price']
  } | null
}

/**
 * Creates a pricer that caches the entry of each target, so that pricing a call takes one microsecond instead
 * of twenty.
 */
export function createPricer(pricing: Pricing): Pricer {
  const entries = new Map<string, Entry | null>()
  const entryOf = (target: Pick<Target, 'provider' | 'model'>, at: number): Entry | null => {
    const id = targetId(target)
    let entry = entries.get(id)
    if (entry === undefined || (entry && (at < entry.from || at >= entry.until))) {
      entry = find(target, pricing, at)
      if (entries.size > 10_000) entries.clear() // clients choose direct ids
      entries.set(id, entry)
    }
    return entry
  }

  /** Returns the cost of tokens at the listed price. */
  const listed = (target: Pick<Target, 'provider' | 'model'>, tokens: PricedTokens, at: number): Cost => {
    if (tokens.input == null || tokens.output == null) return UNKNOWN_USAGE
    const entry = entryOf(target, at)
    if (entry === null) return UNKNOWN_PRICE
    const { input, output, cached_input: cached, cache_write: written, cache_write_1h } = tokens
    const forHour = Math.min(cache_write_1h ?? 0, written ?? 0)
    const fresh = input - (cached ?? 0) - (written ?? 0)
    if (fresh < 0) return UNKNOWN_USAGE // counts that contradict each other
    const kinds = tokens.served?.kinds
    if (entry.flat && !kinds) {
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
      { input, output, cached: cached ?? 0, written: written ?? 0, forHour, kinds },
      new Date(at),
      entry.source,
    )
  }

  const { own, baseUrls, flat } = pricing
  const tableIds = new Map<string, string>()
  /** Returns the library's id of a provider. Finding it takes 40 microseconds. */
  const tableIdOf = (provider: string): string => {
    let id = tableIds.get(provider)
    if (id === undefined) {
      id = providerOf(provider, baseUrls)?.id ?? provider
      tableIds.set(provider, id)
    }
    return id
  }
  const answeredAs = namesOf(pricing, entryOf)
  const metered: Pricer = (target, tokens, at, answered) => {
    const ownPrice = own[targetId(target)]
    const image = ownPrice?.image
    if (image !== undefined) return costOfImages(target, image, tokens?.images)
    if (tokens === null) return UNKNOWN_USAGE
    const nameOf: NameOf = (model) => answeredAs(target, model ?? answered, at)
    if (!tokens.served) {
      const model = nameOf(null)
      if (model === null) return UNKNOWN_MODEL
      return listed(model === target.model ? target : { ...target, model }, tokens, at)
    }
    const provider = tableIdOf(target.provider)
    const ownOf = (model: string) => own[targetId({ ...target, model })]
    return servedCost(target, nameOf, tokens, { ...tokens.served, provider, own: ownOf, at }, listed)
  }
  return (target, tokens, at, answered) => {
    const cost = metered(target, tokens, at, answered)
    return flat?.has(target.provider) ? { ...cost, flat: true } : cost
  }
}

/** Names of models at a provider, by their keys. */
type NamesByKey = ReadonlyMap<string, string>

const byKey = (names: readonly string[]): NamesByKey =>
  new Map(names.toReversed().map((name) => [nameKey(name), name]))

/** The catalogue of OpenRouter, which names most of the models of all makers. */
let catalogue: NamesByKey | undefined

/** Returns true for the name of a model that is known at any provider. */
function isPublic(name: string): boolean {
  catalogue ??= byKey([
    ...(table().findProvider({ providerId: 'openrouter' })?.models ?? []).map(({ id }) => id),
    ...packageTable().models.map(({ model }) => model),
  ])
  return catalogue.has(nameKey(name)) || calcPrice(NO_COUNTS, bareName(name)) !== null
}

const NO_COUNTS = { input_tokens: 0, output_tokens: 0 }
const DAY_MS = 86_400_000
/** Maximum characters of a name that are read, because providers choose the length. No model has a longer name. */
const MAX_NAME = 512

/** Returns a function that names the model by which an answer is priced; null if its price is unknown. */
function namesOf(
  pricing: Pricing,
  entryOf: (target: Pick<Target, 'provider' | 'model'>, at: number) => Entry | null,
) {
  const resolved = new Map<string, string | null>()
  const listedAt = new Map<string, NamesByKey>()
  /** Returns the names with a price at a provider, the operator's first. */
  const listed = (provider: string): NamesByKey => {
    let names = listedAt.get(provider)
    if (names === undefined) {
      const start = `${provider}/`
      const set = Object.keys(pricing.own).flatMap((id) =>
        id.startsWith(start) ? [id.slice(start.length)] : [],
      )
      names = byKey([...set, ...pricedModels(provider, pricing)])
      if (listedAt.size > 1_000) listedAt.clear()
      listedAt.set(provider, names)
    }
    return names
  }
  return (target: Pick<Target, 'provider' | 'model'>, named: string | null | undefined, at: number) => {
    const { provider, model } = target
    const name = named || model
    // Google's clients may send a model's full name, which no table has.
    if (name === model && !model.startsWith('models/')) return model
    // A copy, because V8 keeps the whole string for its part.
    const answered = name.length > MAX_NAME ? Buffer.from(name.slice(0, MAX_NAME)).toString() : name
    const id = JSON.stringify([provider, model, answered, Math.floor(at / DAY_MS)])
    let known = resolved.get(id)
    if (known === undefined) {
      const entry = (model: string) => entryOf({ provider, model }, at)
      const names: KnownNames = {
        priced(model) {
          if (entry(model)) return model
          const other = listed(provider).get(nameKey(model))
          return other !== undefined && entry(other) ? other : null
        },
        isSet: (model) => entry(model)?.source === 'config',
        isPublic,
        differ: (a, b) => JSON.stringify(ratesIn(entry(a))) !== JSON.stringify(ratesIn(entry(b))),
      }
      known = pricedName(model, answered, names)
      if (resolved.size > 10_000) resolved.clear() // providers choose the names
      resolved.set(id, known)
    }
    return known
  }
}

const ratesIn = (entry: Entry | null) => entry?.provider.models[0]?.prices

/** Returns the source of a target's price at a time; null if the price is unknown. */
export function priceOrigin(
  target: Pick<Target, 'provider' | 'model'>,
  pricing: Pricing,
  at: number,
): PriceOrigin | null {
  const { image } = pricing.own[targetId(target)] ?? {}
  if (image !== undefined) return { title: 'your configuration', date: null }
  return find(target, pricing, at)?.origin ?? null
}

/** Returns the models of a provider that have a price outside the configuration, without duplicates. */
export function pricedModels(provider: string, { baseUrls }: Pricing): string[] {
  const known = providerOf(provider, baseUrls)
  if (!known) return []
  const tables = [known, newerTables().get(known.id)].flatMap((table) => table?.models ?? [])
  return [...new Set([...ownModels(known.id), ...tables.map(({ id }) => id)])].toSorted()
}

interface Counts {
  readonly input?: number
  readonly output?: number
  readonly cached?: number
  readonly written?: number
  /** Part of `written`. */
  readonly forHour?: number
  readonly kinds?: Served['kinds']
}

/** The library's names for kinds of tokens. */
const KIND_NAMES: Readonly<Record<TokenKind, string>> = {
  input_audio: 'input_audio_tokens',
  cached_audio: 'cache_audio_read_tokens',
  output_audio: 'output_audio_tokens',
  input_image: 'input_image_tokens',
  cached_image: 'cache_image_read_tokens',
  output_image: 'output_image_tokens',
  input_video: 'input_video_tokens',
  output_video: 'output_video_tokens',
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
  { input = 0, output = 0, cached = 0, written = 0, forHour = 0, kinds }: Counts,
  timestamp: Date,
  source: Entry['source'] = 'genai-prices',
): Cost {
  const usage: Record<string, number> = {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    cache_write_tokens: written,
    cache_write_1h_tokens: forHour,
  }
  for (const kind in kinds) usage[KIND_NAMES[kind as TokenKind]] = kinds[kind as TokenKind]!
  let result: ReturnType<typeof CalcPrice>
  try {
    result = calcPrice(usage, model, { provider, timestamp })
  } catch {
    return UNKNOWN_USAGE // counts that contradict each other
  }
  return result
    ? {
        usd: result.total_price,
        missing: COMPLETE,
        price: { source, model: result.model.id, rates: result.model_price },
      }
    : UNKNOWN_PRICE
}

/** Returns the library's price for a token of each kind; null for tiered or timed prices, or a price per request. */
function flatRates(provider: Provider, model: string, source: Entry['source']): Entry['flat'] {
  const prices = provider.models[0]!.prices
  if (Array.isArray(prices) || !Object.values(prices).every((rate) => typeof rate === 'number')) return null
  if ('requests_kcount' in prices) return null // a price per request is not proportional to tokens
  const million = 1_000_000
  const rate = (counts: Counts) => (costOf(provider, model, counts, new Date(clock.now())).usd ?? 0) / million
  const perToken = {
    input: rate({ input: million }),
    output: rate({ output: million }),
    cached: rate({ input: million, cached: million }),
    written: rate({ input: million, written: million }),
    writtenForHour: rate({ input: million, written: million, forHour: million }),
  }
  return { perToken, price: costOf(provider, model, {}, new Date(clock.now()), source).price }
}

/** Returns the library's entry for a provider, by its address or name. */
function providerOf(provider: string, baseUrls: Pricing['baseUrls']): Provider | undefined {
  const { findProvider } = table()
  return findProvider({ providerApiUrl: baseUrls[provider] ?? '' }) ?? findProvider({ providerId: provider })
}

const ALWAYS = { from: 0, until: Number.POSITIVE_INFINITY }

/** Returns the entry of a target, from the operator's prices, our own lines or the library. */
function find(target: Pick<Target, 'provider' | 'model'>, pricing: Pricing, at: number): Entry | null {
  const { provider, model } = target
  const made = (
    rates: ModelPrice,
    { source, origin }: Pick<Entry, 'source' | 'origin'>,
    { from, until } = ALWAYS,
  ): Entry => {
    const models = [{ id: model, match: { equals: model }, prices: rates }]
    const entry: Provider = { id: provider, name: provider, api_pattern: '', models }
    return { provider: entry, from, until, source, origin, flat: flatRates(entry, model, source) }
  }
  const price = pricing.own[targetId(target)]
  const rates = price && ratesOf(price)
  if (rates) return made(rates, { source: 'config', origin: { title: 'your configuration', date: null } })
  const known = providerOf(provider, pricing.baseUrls)
  const line = known && ownRates({ provider: known.id, model, at })
  if (line)
    return made(line.rates as ModelPrice, { source: 'waybill', origin: priceSource(line.source) }, line)
  const found = inTable(target, pricing.baseUrls)
  return (
    found && {
      ...ALWAYS,
      provider: found.table,
      source: 'genai-prices',
      origin: { title: `${PRICE_TABLE.name} ${found.edition.version}`, date: found.edition.date },
      flat: flatRates(found.table, model, 'genai-prices'),
    }
  )
}

/** Returns the operator's price in the library's format; null if only factors or fees are set. */
function ratesOf(price: OwnPrice): ModelPrice | null {
  const { input, output, over = [] } = price
  if (input === undefined || output === undefined) return null
  const rates: Record<string, ModelPrice[string]> = {}
  for (const [name, key] of Object.entries(RATE_NAMES)) {
    const base = price[name as keyof typeof RATE_NAMES]
    const tiers = over.flatMap(({ tokens, ...steps }) => {
      const step = steps[name as keyof typeof RATE_NAMES]
      return step === undefined ? [] : [{ start: tokens, price: step }]
    })
    if (base !== undefined) rates[key] = tiers.length === 0 ? base : { base, tiers }
  }
  return rates
}

/** The library's names for the rates of `models.<id>.price`. */
const RATE_NAMES = {
  input: 'input_mtok',
  output: 'output_mtok',
  cached_input: 'cache_read_mtok',
  cache_write: 'cache_write_mtok',
  cache_write_1h: 'cache_write_1h_mtok',
  input_audio: 'input_audio_mtok',
  output_audio: 'output_audio_mtok',
} as const

/**
 * An additional version number after the name of a model. A name with such a number belongs to another model,
 * which the table lacks.
 */
const FURTHER_VERSION = /^[.-]\d{1,2}(?!\d)/

/**
 * Returns the entry for a target's model in the price table, by the provider's address or name. The rows of the
 * newer edition take precedence.
 */
function inTable(
  { provider, model }: Pick<Target, 'provider' | 'model'>,
  baseUrls: Pricing['baseUrls'],
): {
  readonly table: Provider
  readonly edition: { readonly version: string; readonly date: string }
} | null {
  const known = providerOf(provider, baseUrls)
  const newer = [known?.id ?? provider, ...(known?.fallback_model_providers ?? [])].flatMap(
    (id) => newerTables().get(id) ?? [],
  )
  const lookups = [
    ...newer.map((table) => ({ provider: table })),
    { providerApiUrl: baseUrls[provider] ?? '' },
    { providerId: provider },
  ]
  for (const lookup of lookups) {
    const found = calcPrice(NO_COUNTS, model, lookup)
    if (!found) continue
    const { provider: table } = found
    // The table matches some models by prefix. A name with another slash may be another model.
    const before = model.slice(0, Math.max(0, model.lastIndexOf('/')))
    if (before && calcPrice(NO_COUNTS, before, { provider: table })) continue
    const { id, match } = found.model
    const bare = model.slice(model.lastIndexOf('/') + 1)
    const isFurther = bare.startsWith(id) && FURTHER_VERSION.test(bare.slice(id.length))
    if (isFurther && !namesExactly(match, bare)) continue
    return {
      table: { ...table, models: [{ ...found.model, match: { equals: model } }] },
      edition: 'provider' in lookup ? NEWER_PRICES : PRICE_TABLE,
    }
  }
  return null
}

const namesExactly = (match: MatchLogic, name: string): boolean =>
  'or' in match
    ? match.or.some((each) => namesExactly(each, name))
    : 'equals' in match && match.equals === name

/** Rows of a newer edition of the price table, which `npm run release -- newer-prices` carries over. */
const NEWER_FILE = 'src/pricing/newer-prices.jsonl'
let newerRows: ReadonlyMap<string, Provider> | undefined

/** Returns the newer rows by the library's id of their provider. Reads them once. */
export function newerTables(): ReadonlyMap<string, Provider> {
  if (newerRows) return newerRows
  const tables = new Map<string, Provider>()
  const [, ...lines] = readFileSync(packageFile(NEWER_FILE), 'utf8').trimEnd().split('\n')
  for (const line of lines) {
    const { provider: id, ...model } = JSON.parse(line) as { provider: string } & ModelInfo
    const table = tables.get(id) ?? { id, name: id, api_pattern: '', models: [] }
    table.models.push(model)
    tables.set(id, table)
  }
  newerRows = tables
  return tables
}
