// Finds the configuration for a command that names none, and the owner's key next to it. Loaded with every command, so
// it parses no configuration unless it must.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { packageFile } from '../shared/package-root.ts'
import { keysFileOf, readKept } from '../terminal/keys.ts'
import { complain } from './output.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Returns the directory for this user's files: `$XDG_CONFIG_HOME/waybill`, or `~/.config/waybill`. */
export const userDirectory = (env: Env): string =>
  join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'waybill')

/** Returns the configuration for commands that name none: the one of this directory, or else the user's. */
export function usualConfig(env: Env): string {
  if (env.WAYBILL_CONFIG) return env.WAYBILL_CONFIG
  const hasHome = env.XDG_CONFIG_HOME || env.HOME
  const users = join(userDirectory(env), 'waybill.yaml')
  return hasHome && !existsSync('waybill.yaml') && existsSync(users) ? users : 'waybill.yaml'
}

/**
 * Returns the file of kept keys if it has the owner's key. The key is for the gateway of this configuration, so no other
 * address gets it.
 */
export async function ownersKeyFile(
  config: string,
  url: string | undefined,
  env: Env,
): Promise<string | undefined> {
  const file = resolve(keysFileOf(config))
  const { values, problem } = existsSync(config) ? readKept(file) : { values: {}, problem: null }
  if (problem !== null) complain(`${problem}; it is not used`)
  if (!('WAYBILL_KEY' in values)) return undefined
  const named = url ?? env.WAYBILL_URL
  if (!named) return file
  const [{ gatewayAddress }, { loadConfig }] = await Promise.all([
    import('./gateway-client.ts'),
    import('../config/load.ts'),
  ])
  const own = gatewayAddress(loadConfig(config, { env, replay: true }).config)
  return placeOf(URL.parse(named)) === placeOf(own) ? file : undefined
}

/** Returns the origin, with one name for this machine. */
const placeOf = (url: URL | null): string | undefined =>
  url?.origin.replace(/^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?=:|$)/, 'this machine')

const example = packageFile('examples/waybill.yaml')

/**
 * Returns the configuration file for `serve`, and the environment to read it with. With --replay and no other file, this
 * is the package's example, so that a first try needs no file. `asked`: true if the user named the file, so it must
 * exist. `note`: a line for a person if the example is used.
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
