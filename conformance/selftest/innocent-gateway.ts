// A must-pass gateway as a target in this process: `inproc: selftest/innocent-gateway#NAME`.
import type { InProcess } from '../launch/in-process.ts'
import { startOf } from './innocent.ts'
import { innocents } from './must-pass/registry.ts'

export const start: InProcess['start'] = (directory, env, name) => {
  const innocent = innocents.get(name ?? '')
  if (!innocent) throw new Error(`there is no innocent "${name}" in conformance/selftest/must-pass/`)
  return startOf(innocent)(directory, env)
}
