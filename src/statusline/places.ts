// Where a client keeps its settings, where we keep what belongs to them, and where the two variants are.
import { copyFileSync, existsSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, homeOf, type Scope } from './clients.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The settings file of a client in a scope, symbolic links followed; it need not exist. Null: it has no such scope. */
export function settingsFile(client: Client, scope: Scope, env: Env, cwd: string): string | null {
  const below = scope === 'user' ? null : client[scope]
  if (below === undefined) return null
  const file = below === null ? join(client.home(env), 'settings.json') : join(cwd, below)
  return existsSync(file) ? realpathSync(file) : file
}

/** Receipts and the sh variant: `$XDG_DATA_HOME/waybill`, else `~/.local/share/waybill`. */
export const dataDirectory = (env: Env): string =>
  join(env.XDG_DATA_HOME || join(homeOf(env), '.local', 'share'), 'waybill')

/**
 * This Node and the bundle beside `from`, both with their whole path: the client's PATH may have another or none. Throws
 * where the bundle would not stay.
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

/** A copy of the script that outlives this package. */
export function script(directory: string): string[] {
  const copy = join(directory, 'statusline.sh')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  copyFileSync(fileURLToPath(new URL('statusline.sh', import.meta.url)), copy)
  return ['/bin/sh', copy]
}
