// A target in this process that is unusual but correct: `inproc: innocent-gateway#NAME`.
import type { InProcess } from './connectors/inproc.ts'
import { startOf } from './innocent.ts'
import { innocents } from './innocents.ts'

export const start: InProcess['start'] = (directory, env, name) => {
  const innocent = innocents.get(name ?? '')
  if (!innocent) throw new Error(`there is no innocent "${name}" in conformance/innocents/`)
  return startOf(innocent)(directory, env)
}
