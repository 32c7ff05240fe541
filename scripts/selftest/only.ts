// The option `--only` of the scripts that run the conformance suite.
import { join } from 'node:path'
import { requirementsFor } from '../../conformance/requirements/applicability.ts'
import { readRequirements } from '../../conformance/requirements/requirements.ts'
import { ownTargets, readTarget } from '../../conformance/target/read.ts'

/**
 * Returns the requirements that `--only A,B --only C` names; undefined without the option. Throws for an
 * unknown requirement, because an empty run would find nothing wrong.
 */
export function requirementsNamed(given: readonly string[] | undefined): string[] | undefined {
  const ids = given?.flatMap((each) => each.split(','))
  const known = new Set(
    requirementsFor(readRequirements(), 'waybill', readTarget(join(ownTargets, 'waybill.yaml'))).map(
      ({ id }) => id,
    ),
  )
  const unknown = ids?.filter((id) => !known.has(id)) ?? []
  if (unknown.length > 0)
    throw new Error(`--only: ${unknown.join(', ')} is no requirement of conformance/requirements`)
  return ids
}

/** Returns the requirements of `--only`, or exits with a one-line error. */
export function onlyOption(script: string, given: readonly string[] | undefined): string[] | undefined {
  try {
    return requirementsNamed(given)
  } catch (cause) {
    process.stderr.write(`${script}: ${(cause as Error).message}\n`)
    process.exit(2)
  }
}
