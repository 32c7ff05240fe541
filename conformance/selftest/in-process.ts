// Must-fail or must-pass gateway as a target in this process: `inproc: selftest/in-process#NAME`.

import type { InProcess } from '../target/in-process.ts'
import { startOf } from './gateway.ts'
import { mustFail } from './must-fail/registry.ts'
import { mustPass } from './must-pass/registry.ts'
import { mutant } from './mutants.ts'

export const start: InProcess['start'] = (directory, env, name = '') => {
  const row = mustFail.get(name) ?? mustPass.get(name) ?? mutant(name)
  if (!row) throw new Error(`there is no "${name}" in conformance/selftest/must-fail/ or must-pass/`)
  return startOf(row)(directory, env)
}
