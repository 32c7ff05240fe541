// Prices that are missing in the price library. Reads prices.yaml, with the source and date of each price,
// and finds the prices of a model at a given time. Independent of particular providers.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { AXES, type Axis } from '../core/served.ts'
import { isNamed } from '../models/facts.ts'
import { packageFile } from '../shared/package-root.ts'

const list = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
  .transform((each) => [each].flat())
/** YAML reads a date as text. */
const day = z.iso.date().transform((date) => Date.parse(date))
const when = { from: day.default(0), until: day.default(Number.POSITIVE_INFINITY) }
const rate = z.number().nonnegative()
const step = z.strictObject({ start: z.int().positive(), price: rate })
const origin = { provider: z.string().min(1), source: z.string().min(1) }

const fileSchema = z.strictObject({
  sources: z.record(z.string(), z.strictObject({ title: z.string().min(1), date: z.iso.date() })),
  models: z.array(
    z.strictObject({
      ...origin,
      ...when,
      model: list,
      rates: z.record(z.string(), z.union([rate, z.strictObject({ base: rate, tiers: z.array(step) })])),
    }),
  ),
  factors: z.array(
    z.strictObject({
      ...origin,
      ...when,
      model: list.optional(),
      axis: z.enum(AXES),
      value: list,
      factor: z.number().nonnegative(),
    }),
  ),
  fees: z.array(z.strictObject({ ...origin, ...when, model: list.optional(), tool: list, usd: rate })),
})
type PriceFile = z.output<typeof fileSchema>

const FILE = 'src/pricing/prices.yaml'
let file: PriceFile | undefined

/** Returns the file's lines. Reads the file once. */
function priceLines(): PriceFile {
  file ??= fileSchema.parse(parse(readFileSync(packageFile(FILE), 'utf8')))
  return file
}

interface Line {
  readonly provider: string
  readonly model?: readonly string[] | undefined
  readonly from: number
  readonly until: number
}

const holds = ({ provider, model, from, until }: Line, asked: Asked): boolean =>
  provider === asked.provider &&
  from <= asked.at &&
  asked.at < until &&
  (model === undefined || isNamed(new Set(model), asked.model))

export interface Asked {
  /** Name of the provider in the price library. */
  readonly provider: string
  readonly model: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Returns our line for a model that is missing or wrong in the library; undefined for other models. */
export const ownRates = (asked: Asked): PriceFile['models'][number] | undefined =>
  priceLines().models.find((line) => holds(line, asked))

/** Returns the models of our lines for a provider. */
export const ownModels = (provider: string): string[] =>
  priceLines().models.flatMap((line) => (line.provider === provider ? line.model : []))

/** Returns the title and the date of a source of our lines. */
export const priceSource = (source: string): PriceFile['sources'][string] => priceLines().sources[source]!

/** Words for the tier or speed with the listed price, at any provider. */
const LISTED = new Set(['default', 'standard', 'on_demand'])

const DAY_MS = 86_400_000
/** Maximum number of cached factors. */
const MAX_FACTORS = 10_000
const factors = new Map<string, number | null>()

/** Returns the factor for a value of an axis; null if unknown. */
export function factorOf(axis: Axis, value: string, asked: Asked): number | null {
  if (LISTED.has(value)) return 1
  const { provider, model, at } = asked
  const key = `${axis} ${value} ${provider} ${model} ${Math.floor(at / DAY_MS)}`
  const known = factors.get(key)
  if (known !== undefined) return known
  const lines = priceLines().factors.filter((line) => line.axis === axis && line.value.includes(value))
  const factor = lines.find((line) => holds(line, asked))?.factor ?? null
  if (factors.size >= MAX_FACTORS) factors.clear() // clients choose models, and providers choose tiers
  factors.set(key, factor)
  return factor
}

/** Returns the fee for one use of a provider's tool, US dollars; null if unknown. */
export const feeOf = (tool: string, asked: Asked): number | null =>
  priceLines().fees.find((line) => line.tool.includes(tool) && holds(line, asked))?.usd ?? null
