// Starts a gateway that tests the suite, by its name: as a target in this process (`inproc: selftest/start#NAME`), or as a
// separate process in the current directory (`node start.ts NAME`), which ends on SIGTERM.
import type { InProcess } from '../target/local.ts'
import { referenceWith, startOf } from './gateway.ts'
import { mutant } from './mutants.ts'
import { mustFail, mustPass } from './registry.ts'

/**
 * The reference gateway behind hooks that change nothing. It must pass all checks, which shows that a must-fail gateway
 * fails because of its own mistake, not because of the hooks.
 */
const CONTROL = 'control'

export const start: InProcess['start'] = (directory, env, name = '') => {
  const row = mustFail.get(name) ?? mustPass.get(name) ?? mutant(name)
  if (row) return startOf(row)(directory, env)
  if (name === CONTROL) return referenceWith({})(directory, env)
  throw new Error(`there is no "${name}" in conformance/selftest/must-fail/ or must-pass/`)
}

if (import.meta.main)
  try {
    const gateway = await start(process.cwd(), process.env as Record<string, string>, process.argv[2])
    process.once('SIGTERM', async () => {
      await gateway.close()
      process.exit()
    })
  } catch (cause) {
    process.stderr.write(`${(cause as Error).message}\n`)
    process.exit(1) // because parts that have started would keep the process running
  }
