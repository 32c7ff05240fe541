// Runs the checks that bind every gateway on a must-pass gateway, and reports which of them fail.
import { checks } from '../checks/registry.ts'
import type { DialectName } from '../dialects/dialect.ts'
import type { Outcome } from '../judge/judge.ts'
import { StartError } from '../launch/instance.ts'
import type { Further } from '../requirements/applicability.ts'
import { asked, type Requirement, readRequirements } from '../requirements/requirements.ts'
import { conform } from '../run.ts'
import { targetOf } from './fault-run.ts'
import { innocents } from './must-pass/registry.ts'

export interface InnocentResult {
  readonly name: string
  /** Requirement id -> outcome. */
  readonly outcomes: ReadonlyMap<string, Outcome>
  /** Requirement id -> the failed finding, or why the check was inconclusive. */
  readonly accused: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

const isOn =
  (on: readonly Further[]) =>
  ({ check }: Requirement): boolean =>
    on.some((dialect: DialectName) => checks.get(check!)?.dialect === dialect)

/** Runs profile `observable`, or only some of its requirements. */
export async function tryInnocent(name: string, only?: readonly string[]): Promise<InnocentResult> {
  const began = performance.now()
  try {
    return await judgeInnocent(name, only, began)
  } catch (cause) {
    if (!(cause instanceof StartError)) throw cause
    const accused = new Map([['the start', cause.message]])
    return { name, outcomes: new Map(), accused, duration: performance.now() - began }
  }
}

async function judgeInnocent(
  name: string,
  only: readonly string[] | undefined,
  began: number,
): Promise<InnocentResult> {
  const { target = (same) => same, mayWarn = [], on = [] } = innocents.get(name)!
  const { dialects, ...whole } = targetOf(name)
  const kept = Object.fromEntries(on.map((dialect) => [dialect, dialects[dialect] ?? {}]))
  const held = target({ ...whole, dialects: kept, start: { inproc: `selftest/innocent-gateway#${name}` } })
  const besides = on.length > 0 && held.dialects.chat !== false
  const there = besides ? asked(readRequirements(), 'observable', held).filter(isOn(on)) : null
  const tried = only ?? there?.map(({ id }) => id)
  const { results } = await conform({
    target: held,
    profile: 'observable',
    quick: true,
    ...(tried && { only: tried }),
  })
  const verdicts = results.verdicts.filter(({ outcome }) => outcome !== 'disabled')
  if (verdicts.length === 0) throw new StartError('no requirement was tried')
  return {
    name,
    outcomes: new Map(verdicts.map(({ id, outcome }) => [id, outcome])),
    accused: new Map(
      verdicts
        .filter(
          ({ id, level, outcome }) =>
            !['pass', 'not-applicable'].includes(outcome) &&
            !((level === 'SHOULD' || outcome === 'warn') && mayWarn.includes(id)),
        )
        .map(({ id, outcome, reason }) => [id, `${outcome}: ${reason}`]),
    ),
    duration: performance.now() - began,
  }
}
