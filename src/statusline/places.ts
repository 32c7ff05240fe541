// Paths of a client's settings, of our install data, and of the two variants.
import { copyFileSync, existsSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, homeDirectory, type Scope } from './clients.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Returns a client's settings file in a scope, even if it is missing, with links resolved. Returns null if
 * there is no such scope.
 */
export function settingsFile(client: Client, scope: Scope, env: Env, cwd: string): string | null {
  const below = scope === 'user' ? null : client[scope]
  if (below === undefined) return null
  const file = below === null ? join(client.home(env), 'settings.json') : join(cwd, below)
  return existsSync(file) ? realpathSync(file) : file
}

/** Directory of install records and the sh variant: `$XDG_DATA_HOME/waybill`, or `~/.local/share/waybill`. */
export const dataDirectory = (env: Env): string =>
  join(env.XDG_DATA_HOME || join(homeDirectory(env), '.local', 'share'), 'waybill')

/**
 * Returns this Node and the bundle next to `from`, as absolute paths, because the client's PATH may contain a
 * different Node or none. Throws if the bundle is in npx's cache.
 */
export function program(from: string = import.meta.url): string[] {
  const bundle = fileURLToPath(new URL('statusline.cjs', from))
  const built = existsSync(bundle) ? bundle : fileURLToPath(new URL('../../dist/statusline.cjs', from))
  if (!existsSync(built)) throw new Error('the status line is not built; run `npm run build` first')
  if (/[\\/]_npx[\\/]/.test(built))
    throw new Error(
      `${built} is in npm's cache, which npm may clear; install waybill first, or use --sh, which keeps its own copy`,
    )
  return [process.execPath, built]
}

/** Copies the script, so that it remains after this package is removed. */
export function installScript(directory: string): string[] {
  const copy = join(directory, 'statusline.sh')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  copyFileSync(fileURLToPath(new URL('statusline.sh', import.meta.url)), copy)
  return ['/bin/sh', copy]
}
