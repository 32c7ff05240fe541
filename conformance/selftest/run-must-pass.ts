// Runs the checks that bind every gateway on a must-pass gateway, and reports which of them fail.
import { clock } from '../../src/shared/clock.ts'
import { checks } from '../checks/registry.ts'
import type { DialectName } from '../dialects/dialect.ts'
import type { Outcome } from '../judge/judge.ts'
import { StartError } from '../launch/instance.ts'
import { type Further, requirementsFor } from '../requirements/applicability.ts'
import { type Requirement, readRequirements } from '../requirements/requirements.ts'
import { conform } from '../run.ts'
import { serverTarget } from './model-server.ts'
import { mustPass } from './must-pass/registry.ts'
import { targetOf } from './run-must-fail.ts'

export interface MustPassResult {
  readonly name: string
  /** Requirement id -> outcome. */
  readonly outcomes: ReadonlyMap<string, Outcome>
  /** Requirement id -> the failed finding, or the reason why the check was inconclusive. */
  readonly wronglyFailed: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

const isOn =
  (on: readonly Further[]) =>
  ({ check }: Requirement): boolean =>
    on.some((dialect: DialectName) => checks.get(check!)?.dialect === dialect)

/** Runs profile `observable`, or only some of its requirements. */
export async function tryMustPass(name: string, only?: readonly string[]): Promise<MustPassResult> {
  const began = clock.monotonic()
  try {
    return await judgeMustPass(name, only, began)
  } catch (cause) {
    if (!(cause instanceof StartError)) throw cause
    const wronglyFailed = new Map([['the start', cause.message]])
    return { name, outcomes: new Map(), wronglyFailed, duration: clock.monotonic() - began }
  }
}

async function judgeMustPass(
  name: string,
  only: readonly string[] | undefined,
  began: number,
): Promise<MustPassResult> {
  const { target = (same) => same, mayWarn = [], on = [], profile = 'observable' } = mustPass.get(name)!
  const { dialects, ...whole } = profile === 'server' ? serverTarget(name) : targetOf(name)
  const all = profile === 'observable' ? {} : dialects
  const kept = Object.fromEntries(on.map((dialect) => [dialect, dialects[dialect] ?? {}]))
  const held = target({
    ...whole,
    dialects: { ...all, ...kept },
    start: { inproc: `selftest/in-process#${name}` },
  })
  const besides = on.length > 0 && held.dialects.chat !== false
  const there = besides ? requirementsFor(readRequirements(), 'observable', held).filter(isOn(on)) : null
  const tried = only ?? there?.map(({ id }) => id)
  const { results } = await conform({
    target: held,
    profile,
    live: profile === 'server',
    quick: true,
    ...(tried && { only: tried }),
  })
  const verdicts = results.verdicts.filter(({ outcome }) => outcome !== 'disabled')
  if (verdicts.length === 0) throw new StartError('no requirement was tried')
  return {
    name,
    outcomes: new Map(verdicts.map(({ id, outcome }) => [id, outcome])),
    wronglyFailed: new Map(
      verdicts
        .filter(
          ({ id, level, outcome }) =>
            !['pass', 'not-applicable'].includes(outcome) &&
            !((level === 'SHOULD' || outcome === 'warn') && mayWarn.includes(id)),
        )
        .map(({ id, outcome, reason }) => [id, `${outcome}: ${reason}`]),
    ),
    duration: clock.monotonic() - began,
  }
}
