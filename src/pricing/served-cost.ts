// Computes the cost of a call as served: the parts at the prices of their models, times the factors of tier,
// speed and region, plus the fees of tools. Uses the provider's own figure if reported. Contains no prices.
import type { Target, Tokens } from '../core/call.ts'
import { AXES, type Served } from '../core/served.ts'
import { type Asked, factorOf, feeOf } from './axes.ts'
import type { Cost, OwnPrice, PricedTokens } from './cost.ts'

type Asks = Pick<Target, 'provider' | 'model'>

/** Usage as served, with the names for looking up prices. */
type ServedAt = Served & {
  /** Name of the provider in the price library. */
  readonly provider: string
  readonly own: OwnPrice | undefined
  readonly at: number
}

/** Returns the cost of tokens at the listed price. */
type Listed = (target: Asks, tokens: PricedTokens, at: number) => Cost

export function servedCost(
  target: Asks,
  tokens: Omit<Tokens, 'source'>,
  served: ServedAt,
  listed: Listed,
): Cost {
  const priced = served.uncharged
    ? { usd: 0, missing: [], price: null }
    : sumOf(target, tokens, served, listed)
  const { reportedUsd } = served
  if (reportedUsd == null) return priced
  return { ...priced, usd: reportedUsd, missing: [], reported: { usd: reportedUsd, priced: priced.usd } }
}

function sumOf(target: Asks, tokens: Omit<Tokens, 'source'>, served: ServedAt, listed: Listed): Cost {
  const { parts, at } = served
  const asked = served.model ?? target.model
  if (!parts && !served.tools && !served.doubts)
    return factored(listed({ provider: target.provider, model: asked }, tokens, at), served, asked)
  const pieces = parts
    ? parts.map(({ model, tokens, billed }) => ({ model: model ?? target.model, tokens, billed }))
    : [{ model: asked, tokens: tokens as PricedTokens, billed: true }]
  const missing = new Set<string>(served.doubts?.includes('iterations') ? ['iterations'] : [])
  const costs = pieces.map(({ model, tokens, billed }): Cost => {
    if (!billed) return FREE
    const piece = { provider: target.provider, model }
    const cost = factored(listed(piece, tokens, at), served, model)
    for (const each of cost.missing) missing.add(each)
    return cost
  })
  const known = costs.flatMap(({ usd }) => (usd === null ? [] : [usd]))
  const { usd: fees, each, unknown } = feesOf(served, asked)
  if (unknown) missing.add('tools')
  const price = costs.findLast((cost) => cost.price !== null)?.price ?? null
  return {
    usd: known.length === 0 ? null : known.reduce((sum, usd) => sum + usd, fees),
    missing: [...missing],
    price: price && Object.keys(each).length > 0 ? { ...price, fees: each } : price,
    ...(parts && { parts: costs.map(({ usd }) => usd) }),
  }
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
    const factor = served.own?.[axis]?.[value] ?? factorOf(axis, value, askedOf(served, model))
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
    const fee = served.own?.tools?.[tool] ?? feeOf(tool, askedOf(served, model))
    if (fee === null) unknown = true
    else if (fee > 0) {
      usd += uses * fee
      each[tool] = fee
    }
  }
  return { usd, each, unknown }
}

const askedOf = ({ provider, at }: ServedAt, model: string): Asked => ({ provider, model, at })
