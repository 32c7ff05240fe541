// Holds an innocent against every check that binds every gateway, and says which of them accuse it.
import { targetOf } from './fault-run.ts'
import { innocents } from './innocents.ts'
import type { Outcome } from './judge.ts'
import { conform } from './run.ts'

export interface InnocentResult {
  readonly name: string
  /** Requirement id -> outcome. */
  readonly outcomes: ReadonlyMap<string, Outcome>
  /** Requirement id -> what the suite says against it, or why it could not tell. */
  readonly accused: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

/** Runs profile `observable`, or only some of its requirements. */
export async function tryInnocent(name: string, only?: readonly string[]): Promise<InnocentResult> {
  const { target = (same) => same, mayWarn = [] } = innocents.get(name)!
  const began = performance.now()
  const { results } = await conform({
    target: target({ ...targetOf(name), start: { inproc: `innocent-gateway#${name}` } }),
    profile: 'observable',
    quick: true,
    ...(only && { only }),
  })
  const verdicts = results.verdicts.filter(({ outcome }) => outcome !== 'disabled')
  return {
    name,
    outcomes: new Map(verdicts.map(({ id, outcome }) => [id, outcome])),
    accused: new Map(
      verdicts
        .filter(
          ({ id, level, outcome }) =>
            !['pass', 'not-applicable'].includes(outcome) && !(level === 'SHOULD' && mayWarn.includes(id)),
        )
        .map(({ id, outcome, reason }) => [id, `${outcome}: ${reason}`]),
    ),
    duration: performance.now() - began,
  }
}
