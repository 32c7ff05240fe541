// All scenarios by name, and the lookup of a name. A new scenario is an entry in one of the tables joined
// here. All are synthetic: code makes them, following the structure that each scenario names.

import { chunkings } from './chunkings.ts'
import { findDeviation } from './deviations.ts'
import { faults } from './faults.ts'
import { refusals } from './refusals.ts'
import type { Scenario } from './scenario.ts'
import { speeches } from './speeches.ts'

export const scenarios: Readonly<Record<string, Scenario>> = {
  ...speeches,
  ...refusals,
  ...faults,
  ...chunkings,
}

/** Returns the scenario of that name, with the number that replaces `N`: `cut-after-3`. */
export function findScenario(name: string): { scenario: Scenario; number: number } | null {
  const exact = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined
  const whole = exact ?? findDeviation(name)
  if (whole) return { scenario: whole, number: 0 }
  const [, stem, digits] = /^(.+-)(\d+)$/.exec(name) ?? []
  const numbered = stem === undefined ? undefined : scenarios[`${stem}N`]
  return numbered ? { scenario: numbered, number: Number(digits) } : null
}
