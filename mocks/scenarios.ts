// Every scenario by its name, and how a name is looked up. A new one is an entry in one of the tables that are joined
// here. All are synthetic: made by code, to the shape that each one names.

import type { Scenario } from './scenario.ts'
import { chunkings } from './scenarios/chunkings.ts'
import { faults } from './scenarios/faults.ts'
import { refusals } from './scenarios/refusals.ts'
import { speeches } from './scenarios/speeches.ts'

export const scenarios: Readonly<Record<string, Scenario>> = {
  ...speeches,
  ...refusals,
  ...faults,
  ...chunkings,
}

/** The scenario of that name, with the number that stands for `N` in it: `cut-after-3`. */
export function findScenario(name: string): { scenario: Scenario; number: number } | null {
  const exact = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined
  if (exact) return { scenario: exact, number: 0 }
  const [, stem, digits] = /^(.+-)(\d+)$/.exec(name) ?? []
  const numbered = stem === undefined ? undefined : scenarios[`${stem}N`]
  return numbered ? { scenario: numbered, number: Number(digits) } : null
}
