// A must-fail gateway as a target in this process: `inproc: selftest/fault-gateway#NAME`.
import type { InProcess } from '../launch/in-process.ts'
import { startOf } from './fault.ts'
import { faults } from './must-fail/registry.ts'

export const start: InProcess['start'] = (directory, env, name) => {
  const fault = faults.get(name ?? '')
  if (!fault) throw new Error(`there is no fault "${name}" in conformance/selftest/must-fail/`)
  return startOf(fault)(directory, env)
}
