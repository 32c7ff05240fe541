// Computes the cost of a call as served: the parts at the prices of their models, times the factors of tier, speed and
// region, plus the fees of tools. Uses the provider's own figure if reported. Decides by which name a call is priced,
// if its answer names another model than the one that was asked. Contains no prices.
import type { Target, Tokens } from '../core/call.ts'
import { AXES, type Doubt, type Part, type Served } from '../core/served.ts'
import { bareName, datesIn, isCatalogueName, isOtherModel } from '../shared/model-names.ts'
import { type Asked, factorOf, feeOf } from './axes.ts'
import type { Cost, OwnPrice, PricedTokens } from './cost.ts'

/** Knowledge about the names at a provider. */
export interface KnownNames {
  /** Returns the name under which a model has a price; null if it has none. */
  priced(name: string): string | null
  /** Returns true if the operator set the price of this very name. */
  isSet(name: string): boolean
  /** Returns true for the name of a model that is known at any provider. */
  isPublic(name: string): boolean
  /** Returns true if two priced names have different prices. */
  differ(a: string, b: string): boolean
}

/** Returns the name by which a call is priced; null if another model answered whose price is unknown. */
export function pricedName(asked: string, answered: string, names: KnownNames): string | null {
  const [ofAsked, ofAnswered] = [names.priced(asked), names.priced(answered)]
  if (!isOtherModel(asked, answered)) {
    if (ofAsked === null) return ofAnswered ?? asked
    const isOfOtherDate = datesIn(answered) !== '' && datesIn(answered) !== datesIn(asked)
    const hasOwn = isOfOtherDate && !names.isSet(asked) && ofAnswered !== null
    return hasOwn && names.differ(ofAsked, ofAnswered) ? ofAnswered : ofAsked
  }
  if (ofAnswered !== null && names.isSet(ofAnswered)) return ofAnswered
  const isSet = names.isSet(asked)
  // The operator's own name for a deployment says nothing about its model, so its price holds whatever answers.
  if (isSet && !names.isPublic(asked) && !isCatalogueName(asked)) return asked
  if (ofAnswered !== null) return ofAnswered
  const isNamed = names.isPublic(answered) || isCatalogueName(answered) || isOfFamily(asked, answered)
  return isNamed || (ofAsked !== null && !isSet) ? null : asked
}

/** Returns true if both names begin with the same word of a maker, such as `claude`. */
const isOfFamily = (a: string, b: string): boolean => familyOf(a) !== '' && familyOf(a) === familyOf(b)

const familyOf = (name: string): string => /^[a-z]*/.exec(bareName(name.toLowerCase()))![0]

type Asks = Pick<Target, 'provider' | 'model'>

/** Usage as served, with the names for looking up prices. */
type ServedAt = Served & {
  /** Name of the provider in the price library. */
  readonly provider: string
  /** Returns the operator's price of a model. */
  readonly own: (model: string) => OwnPrice | undefined
  readonly at: number
}

/** Returns the cost of tokens at the listed price. */
type Listed = (target: Asks, tokens: PricedTokens, at: number) => Cost

/**
 * Returns the name by which a model is priced, null for the model that answered; null if another model answered whose
 * price is unknown.
 */
export type NameOf = (model: string | null) => string | null

/** Doubts that leave a part of the cost unknown. */
const OPEN_DOUBTS: ReadonlySet<Doubt> = new Set(['iterations', 'unknown_usage'])

/** Cost if another model answered whose price is unknown. */
export const UNKNOWN_MODEL: Cost = { usd: null, missing: ['model'], price: null }

export function servedCost(
  target: Asks,
  nameOf: NameOf,
  tokens: Omit<Tokens, 'source'>,
  served: ServedAt,
  listed: Listed,
): Cost {
  const priced = served.uncharged ? FREE : sumOf(target, nameOf, tokens, served, listed)
  const { reportedUsd } = served
  if (reportedUsd == null) return priced
  return { ...priced, usd: reportedUsd, missing: [], reported: { usd: reportedUsd, priced: priced.usd } }
}

function sumOf(
  target: Asks,
  nameOf: NameOf,
  tokens: Omit<Tokens, 'source'>,
  served: ServedAt,
  listed: Listed,
): Cost {
  const { parts, at } = served
  const by = nameOf(served.model ?? null)
  const costOf = (model: string | null, counts: PricedTokens): Cost =>
    model === null
      ? UNKNOWN_MODEL
      : factored(listed({ provider: target.provider, model }, counts, at), served, model)
  if (!parts && !served.tools && !served.doubts && !served.written_12h) return costOf(by, tokens)
  const pieces = parts
    ? piecesOf(parts, target.model, nameOf)
    : [{ model: by, tokens: tokens as PricedTokens, billed: true }]
  const missing = new Set<string>(served.doubts?.filter((doubt) => OPEN_DOUBTS.has(doubt)))
  if (served.written_12h) missing.add('cache_write_12h') // at least the price of a shorter time
  const costs = pieces.map(({ model, tokens, billed }): Cost => {
    if (!billed) return FREE
    const cost = costOf(model, tokens)
    for (const each of cost.missing) missing.add(each)
    return cost
  })
  const known = costs.flatMap(({ usd }) => (usd === null ? [] : [usd]))
  const { usd: fees, each, unknown } = feesOf(served, by ?? target.model)
  if (unknown) missing.add('tools')
  const price = costs.findLast((cost) => cost.price !== null)?.price ?? null
  return {
    usd: known.length === 0 ? null : known.reduce((sum, usd) => sum + usd, fees),
    missing: [...missing],
    price: price && Object.keys(each).length > 0 ? { ...price, fees: each } : price,
    ...(parts && { parts: costs.map(({ usd }) => usd) }),
  }
}

/**
 * Returns the parts of a call with the names by which they are priced. A message without a model is of the model that
 * answered, unless it is an attempt before a fallback.
 */
function piecesOf(parts: readonly Part[], asked: string, nameOf: NameOf) {
  const hasFallback = parts.some(({ kind }) => kind === 'fallback_message')
  return parts.map(({ kind, model, tokens, billed }) => {
    const isAnswer = hasFallback ? kind === 'fallback_message' : kind === 'message'
    return { model: nameOf(model ?? (isAnswer ? null : asked)), tokens, billed }
  })
}

const FREE: Cost = { usd: 0, missing: [], price: null }

/** Multiplies a cost by the factor of each axis. The result is unknown if one factor is unknown. */
function factored(cost: Cost, served: ServedAt, model: string): Cost {
  const factors: Record<string, number> = {}
  const unknown: string[] = []
  let product = 1
  for (const axis of AXES) {
    const value = served[axis]
    if (value == null) continue
    const factor = served.own(model)?.[axis]?.[value] ?? factorOf(axis, value, askedOf(served, model))
    if (factor === null) unknown.push(axis)
    else if (factor !== 1) {
      product *= factor
      factors[`${axis} ${value}`] = factor
    }
  }
  if (unknown.length > 0) return { usd: null, missing: [...cost.missing, ...unknown], price: cost.price }
  if (cost.usd === null || product === 1) return cost
  return { ...cost, usd: cost.usd * product, price: cost.price && { ...cost.price, factors } }
}

/**
 * Returns the total fee of the provider's tools and the fee for one use of each. Reports an unknown fee.
 */
function feesOf(served: ServedAt, model: string) {
  let usd = 0
  let unknown = false
  const each: Record<string, number> = {}
  for (const [tool, uses] of Object.entries(served.tools ?? {})) {
    if (uses === 0) continue
    const fee = served.own(model)?.tools?.[tool] ?? feeOf(tool, askedOf(served, model))
    if (fee === null) unknown = true
    else if (fee > 0) {
      usd += uses * fee
      each[tool] = fee
    }
  }
  return { usd, each, unknown }
}

const askedOf = ({ provider, at }: ServedAt, model: string): Asked => ({ provider, model, at })
