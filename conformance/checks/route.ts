// What the checks of ROUTE share.

import { isPlausible } from '../chance.ts'
import { type Finding, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { servedBy, where } from '../lookup.ts'
import type { Session } from '../session.ts'
import { step } from '../step.ts'
import type { Target } from '../target.ts'

export type Table = Target['models']['logical'][number]

export const isIn = ({ targets }: Table, entry: { provider: string; model: string | null }): boolean =>
  targets.some(({ provider, model }) => provider === entry.provider && model === entry.model)

/** Calls of a model, again and again. */
export const call = step<{ model: string }>('call')
/** A route is resolved, without a call. */
export const resolve = step<{ model: string }>('resolve')

export const ofModel = <E extends { details: { model: string } }>(
  exchanges: readonly E[],
  model: string,
): E[] => exchanges.filter(({ details }) => details.model === model)

/** Where calls went, in their order. */
export const targets = (evidence: Evidence, calls: readonly Exchange[]): string[] =>
  calls.map((exchange) => {
    const entry = servedBy(evidence, exchange)
    return entry ? where(entry) : 'nowhere'
  })

export const repeat = async (
  session: Session,
  times: number,
  model: string,
  script?: object[],
): Promise<void> => {
  for (let n = 0; n < times; n++)
    await session.chat(call.with({ model }), { model, ...(script && { script }) })
}

export const resolveOf = (session: Session, model: string): Promise<Exchange> =>
  session.ask(resolve.with({ model }), `/api/cloud/model/resolve?model=${encodeURIComponent(model)}`)

/** Picks that are checked by their share; each share has a false alarm in ten million. */
export const N = 240

export function shares(
  evidence: Evidence,
  model: string,
  expected: Readonly<Record<string, number>>,
): Finding[] {
  const went = targets(evidence, ofModel(call.in(evidence), model))
  return Object.entries(expected).map(([target, p]) => {
    const count = went.filter((each) => each === target).length
    return finding(
      `${model}-shares`,
      went.length === N && isPlausible(count, went.length, p),
      `calls of ${model} that went to ${target}`,
      { expected: `about ${(N * p).toFixed(0)} of ${N}`, actual: `${count} of ${went.length}` },
    )
  })
}

export const [A, B, C] = ['openai/gpt-5-mini', 'groq/openai/gpt-oss-120b', 'openai/gpt-5-nano'] as const
