// The findings of a verdict by their id: findings with the same id are one question about several exchanges. Pure.
import type { Verdict } from './judge.ts'

export interface Answered {
  /** `KEEP-01/no-secret-in-answers`. */
  readonly id: string
  /** `open`: it cannot be shown that the target is to blame. */
  readonly state: 'holds' | 'fails' | 'open'
  readonly findings: Verdict['findings']
}

/** In the order in which they were first found. */
export function byFinding({ findings }: Pick<Verdict, 'findings'>): Answered[] {
  return [...Map.groupBy(findings, ({ id }) => id)].map(([id, those]) => {
    const failed = those.some(({ ok, doubt }) => !ok && !doubt)
    return { id, state: failed ? 'fails' : those.every(({ ok }) => ok) ? 'holds' : 'open', findings: those }
  })
}
