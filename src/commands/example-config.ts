// Which configuration `serve` runs on: in --replay the package's own example where there is no other, because a
// first look should need no file. Knows where the example lies; does not read it.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

type Env = Readonly<Record<string, string | undefined>>

// From src/commands/ it is two steps up, from the bundle in dist/ one.
const example = fileURLToPath(
  new URL(`${import.meta.url.endsWith('.ts') ? '../' : ''}../examples/waybill.yaml`, import.meta.url),
)

/**
 * The configuration file to use, and the environment to read it with. `asked`: the user named the file, so that
 * it must be there. `note` is a line for a person where the example steps in.
 */
export function configOrExample(
  { config, replay, asked }: { config: string; replay?: string | true; asked: boolean },
  env: Env,
): { config: string; env: Env; note: string | null } {
  if (replay === undefined || asked || existsSync(config)) return { config, env, note: null }
  return {
    config: example,
    // The example's own data directory is the project's; a first look belongs to where it is taken.
    env: { ...env, WAYBILL_DATA: env.WAYBILL_DATA ?? resolve('data') },
    note: `waybill: there is no ${config}, so this runs on the example configuration, ${example}\n`,
  }
}
