// A target in this process that has one fault: `inproc: fault-gateway#NAME`.
import type { InProcess } from './connectors/inproc.ts'
import { startOf } from './fault.ts'
import { faults } from './faults.ts'

export const start: InProcess['start'] = (directory, env, name) => {
  const fault = faults.get(name ?? '')
  if (!fault) throw new Error(`there is no fault "${name}" in conformance/faults/`)
  return startOf(fault)(directory, env)
}
