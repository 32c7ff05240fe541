// `waybill target check FILE`: prints the mistakes in a target file. Without mistakes, prints the result of
// one call through the gateway and the requirements that a run would test.

import type { Profile } from '../../conformance/requirements/profiles.ts'
import { applying, lookAt, type Preflight } from '../../conformance/runner/preflight.ts'
import { readTarget } from '../../conformance/target/read.ts'
import type { Target } from '../../conformance/target/schema.ts'
import { endOnSignal, explainSetup, profileOf, reportError } from './conform.ts'
import { type MockAddress, withMock } from './mock-options.ts'
import { print } from './output.ts'

/**
 * Returns the exit code. 0: the gateway matches the file; 1: it differs; 2: the file is wrong; 3: no call was
 * made.
 */
export async function check(file: string, options: { profile: string } & MockAddress): Promise<number> {
  try {
    const profile = profileOf(options.profile)
    const target = withMock(readTarget(file), options)
    print(`${file}: no mistakes found. Starting ${target.name} …`)
    endOnSignal()
    const { sights } = await look(target)
    for (const { ok, what } of sights) print(`  ${ok ? '✓' : '✗'} ${what}`)
    tellRequirements(target, profile)
    const ok = sights.every((sight) => sight.ok)
    if (ok) print(`Next: waybill conform ${file} --profile ${profile} --report report`)
    return ok ? 0 : 1
  } catch (thrown) {
    return reportError(thrown)
  }
}

/** Makes one call. Before that, waits until a running gateway is configured to use the mock providers. */
export const look = (target: Target): Promise<Preflight> =>
  lookAt(target, async (mock) => {
    if ('url' in target.start && target.mock_port === 0) await explainSetup(mock, target.start.url)
  })

function tellRequirements(target: Target, profile: Profile): void {
  const all = applying(target, profile)
  const applies = all.filter(({ missing }) => missing.length === 0)
  const reasons = Map.groupBy(
    all.filter(({ missing }) => missing.length > 0),
    ({ missing }) => missing.join('; '),
  )
  print(`Profile ${profile}: ${applies.length} of ${all.length} requirements apply:`)
  print(`  ${applies.map(({ requirement }) => requirement.id).join(' ')}`)
  if (reasons.size > 0) print('The others do not, because the file does not declare')
  for (const [missing, rows] of reasons)
    print(`  ${missing}: ${rows.map(({ requirement }) => requirement.id).join(' ')}`)
}
