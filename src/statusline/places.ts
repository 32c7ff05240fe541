// Where the client keeps its settings, where we keep what belongs to them, and where the two variants are.
import { copyFileSync, existsSync, mkdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

type Env = Readonly<Record<string, string | undefined>>

/** `user`: for all projects. `project`: shared with the project. `local`: for me in this project. */
export const SCOPES = ['user', 'project', 'local'] as const
export type Scope = (typeof SCOPES)[number]

const homeOf = (env: Env): string => env.HOME || homedir()

/** The settings file of a scope, symbolic links followed; it need not exist. */
export function settingsFile(scope: Scope, env: Env, cwd: string): string {
  const file =
    scope === 'user'
      ? join(env.CLAUDE_CONFIG_DIR || join(homeOf(env), '.claude'), 'settings.json')
      : join(cwd, '.claude', scope === 'project' ? 'settings.json' : 'settings.local.json')
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
      `${built} lies in npm's cache, which npm may clear; install waybill first, or take --sh, which keeps a copy of its own`,
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
