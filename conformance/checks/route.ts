// What the checks of ROUTE share.

import { isPlausible } from '../chance.ts'
import { type Finding, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { labelled, servedBy, where } from '../lookup.ts'
import type { Session } from '../session.ts'
import type { Target } from '../target.ts'

export type Table = Target['models']['logical'][number]

export const isIn = ({ targets }: Table, entry: { provider: string; model: string | null }): boolean =>
  targets.some(({ provider, model }) => provider === entry.provider && model === entry.model)

/** Where the calls of a label went, in their order. */
export const targets = (evidence: Evidence, label: string): string[] =>
  labelled(evidence, label).map((exchange) => {
    const entry = servedBy(evidence, exchange)
    return entry ? where(entry) : 'nowhere'
  })

export const repeat = async (
  session: Session,
  times: number,
  model: string,
  script?: object[],
): Promise<void> => {
  for (let n = 0; n < times; n++) await session.chat(model, { model, ...(script && { script }) })
}

export const resolveOf = (session: Session, model: string, label: string): Promise<Exchange> =>
  session.ask(label, `/api/cloud/model/resolve?model=${encodeURIComponent(model)}`)

/** Picks that are checked by their share; each share has a false alarm in ten million. */
export const N = 240

export function shares(
  evidence: Evidence,
  label: string,
  expected: Readonly<Record<string, number>>,
): Finding[] {
  const went = targets(evidence, label)
  return Object.entries(expected).map(([target, p]) => {
    const count = went.filter((each) => each === target).length
    return finding(
      `${label}-shares`,
      went.length === N && isPlausible(count, went.length, p),
      `${label}: ${count} of ${went.length} calls went to ${target}, expected about ${(went.length * p).toFixed(0)}`,
    )
  })
}

export const [A, B, C] = ['openai/gpt-5-mini', 'groq/openai/gpt-oss-120b', 'openai/gpt-5-nano'] as const
