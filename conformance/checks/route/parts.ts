// Parts that the checks of strategies share.
import { ref, servedBy, where } from '../../dialects/lookup.ts'
import type { Evidence, Exchange } from '../../evidence/evidence.ts'
import { isPlausible } from '../../evidence/statistics.ts'
import { step } from '../../evidence/step.ts'
import { type Finding, finding } from '../../runner/check.ts'
import type { CheckContext } from '../../runner/context.ts'

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
