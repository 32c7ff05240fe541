// Runs every check that binds every gateway on an innocent, and reports which of them accuse it.
import { checks } from './checks.ts'
import { targetOf } from './fault-run.ts'
import { innocents } from './innocents.ts'
import type { Outcome } from './judge.ts'
import type { Further } from './on-surfaces.ts'
import { asked, type Requirement, readRequirements } from './requirements.ts'
import { conform } from './run.ts'
import { StartError } from './running.ts'
import type { SurfaceName } from './surface.ts'

export interface InnocentResult {
  readonly name: string
  /** Requirement id -> outcome. */
  readonly outcomes: ReadonlyMap<string, Outcome>
  /** Requirement id -> what the suite says against it, or why it could not tell. */
  readonly accused: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

const isOn =
  (on: readonly Further[]) =>
  ({ check }: Requirement): boolean =>
    on.some((surface: SurfaceName) => checks.get(check!)?.surface === surface)

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
  const { surfaces, ...whole } = targetOf(name)
  const kept = Object.fromEntries(on.map((surface) => [surface, surfaces[surface] ?? {}]))
  const held = target({ ...whole, surfaces: kept, start: { inproc: `innocent-gateway#${name}` } })
  const besides = on.length > 0 && held.surfaces.chat !== false
  const there = besides ? asked(readRequirements(), 'observable', held).filter(isOn(on)) : null
  const tried = only ?? there?.map(({ id }) => id)
  const { results } = await conform({
    target: held,
    profile: 'observable',
    quick: true,
    ...(tried && { only: tried }),
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
