// Chooses the configuration for `serve`. With --replay and no other file, uses the package's example, so that
// a first try needs no file. Locates the example, but does not read it.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { packageFile } from '../shared/package-root.ts'

type Env = Readonly<Record<string, string | undefined>>

const example = packageFile('examples/waybill.yaml')

/**
 * Returns the configuration file, and the environment to read it with. `asked`: true if the user named the
 * file, so it must exist. `note`: a line for a person if the example is used.
 */
export function configOrExample(
  { config, replay, asked }: { config: string; replay?: string | true; asked: boolean },
  env: Env,
): { config: string; env: Env; note: string | null } {
  if (replay === undefined || asked || existsSync(config)) return { config, env, note: null }
  return {
    config: example,
    // The example's own data directory is the project's, but a first try should use the current directory.
    env: { ...env, WAYBILL_DATA: env.WAYBILL_DATA ?? resolve('data') },
    note: `waybill: there is no ${config}, so this runs on the example configuration, ${example}\n`,
  }
}
