// Parts that the checks of strategies share.
import { ref, servedBy, where } from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, step } from '../../evidence/evidence.ts'
import { type Finding, finding } from '../check.ts'
import type { CheckContext } from '../context.ts'

/** Repeated calls of a model. */
export const repeatedCall = step<{ model: string }>('call')
/** Step that resolves a route without a call. */
export const resolveStep = step<{ model: string }>('resolve')

export const ofModel = <E extends { details: { model: string } }>(
  exchanges: readonly E[],
  model: string,
): E[] => exchanges.filter(({ details }) => details.model === model)

/** Returns the targets of calls, in order. */
export const targets = (evidence: Evidence, calls: readonly Exchange[]): string[] =>
  calls.map((exchange) => {
    const entry = servedBy(evidence, exchange)
    return entry ? where(entry) : 'nowhere'
  })

export const repeat = async (
  session: CheckContext,
  times: number,
  model: string,
  script?: object[],
): Promise<void> => {
  for (let n = 0; n < times; n++)
    await session.chat(repeatedCall.with({ model }), { model, ...(script && { script }) })
}

export const resolveOf = (session: CheckContext, model: string): Promise<Exchange> =>
  session.ask(resolveStep.with({ model }), `/api/cloud/model/resolve?model=${encodeURIComponent(model)}`)

/** Number of picks from which shares are computed; each share has one false alarm in ten million runs. */
export const N = 240

export function shares(
  evidence: Evidence,
  model: string,
  expected: Readonly<Record<string, number>>,
): Finding[] {
  const calls = ofModel(repeatedCall.in(evidence), model)
  const went = targets(evidence, calls)
  return Object.entries(expected).map(([target, p]) => {
    const count = went.filter((each) => each === target).length
    return finding(
      `${model}-shares`,
      went.length === N && isPlausible(count, went.length, p),
      `calls of ${model} that went to ${target}`,
      { expected: `about ${(N * p).toFixed(0)} of ${N}`, actual: `${count} of ${went.length}` },
      calls.slice(0, 1).map(ref),
    )
  })
}

export const [A, B, C] = ['openai/gpt-5-mini', 'groq/openai/gpt-oss-120b', 'openai/gpt-5-nano'] as const

/** Maximum probability of a false alarm, from the contract. */
const MAX_FALSE_ALARM = 1e-6

/** Returns the probability of at least `k` hits in `n` draws that each hit with probability `p`. */
export function atLeast(k: number, n: number, p: number): number {
  if (k <= 0) return 1
  if (p <= 0 || k > n) return 0
  if (p >= 1) return 1
  let logarithm = n * Math.log1p(-p) // logarithm of the probability of no hit
  let sum = 0
  for (let hits = 0; hits <= n; hits++) {
    if (hits >= k) sum += Math.exp(logarithm)
    logarithm += Math.log((n - hits) / (hits + 1)) + Math.log(p) - Math.log1p(-p)
  }
  return Math.min(1, sum)
}

/**
 * Returns true if `hits` of `n` draws is plausible for a share of `p`. Ten such tests together stay within
 * the bound.
 */
export const isPlausible = (hits: number, n: number, p: number): boolean =>
  Math.min(atLeast(hits, n, p), atLeast(n - hits, n, 1 - p)) > MAX_FALSE_ALARM / 20

/**
 * Returns true if requests in a window exceed what background traffic explains. `background` was counted in
 * other windows that lasted at least as long together; without background traffic, a single request is
 * enough.
 */
export const isToldApart = (came: number, background: number): boolean =>
  came > 0 && (background === 0 || atLeast(came, came + background, 0.5) <= MAX_FALSE_ALARM)
