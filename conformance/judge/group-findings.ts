// Groups the findings of a verdict by id: findings with the same id compare several exchanges in the same
// way. Pure.
import type { Verdict } from './judge.ts'

interface Answered {
  /** Such as `KEEP-01/no-secret-in-answers`. */
  readonly id: string
  /** `open`: the target cannot be shown to be at fault. */
  readonly state: 'holds' | 'fails' | 'open'
  readonly findings: Verdict['findings']
}

/** Returns the groups in order of their first finding. */
export function byFinding({ findings }: Pick<Verdict, 'findings'>): Answered[] {
  return [...Map.groupBy(findings, ({ id }) => id)].map(([id, those]) => {
    const failed = those.some(({ ok, doubt }) => !ok && !doubt)
    return { id, state: failed ? 'fails' : those.every(({ ok }) => ok) ? 'holds' : 'open', findings: those }
  })
}
