// Finds how to start a program that the user named. On Windows, npm installs a program as a script for
// cmd.exe (`claude.cmd`), which cannot safely receive arbitrary arguments. So the program behind the script
// is started instead. Other systems find the program themselves. Reads files and starts nothing.
import { readFileSync, statSync } from 'node:fs'
import { win32 } from 'node:path'
import { UsageError } from './usage-error.ts'

interface Startable {
  readonly file: string
  /** Arguments that come before the user's own. */
  readonly before: readonly string[]
}

/** Environment of the search; tests supply their own. */
export interface ProgramSystem {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  /** Returns the text of a file; null if there is none. */
  readonly read: (path: string) => string | null
  readonly exists: (path: string) => boolean
}

/** Maximum size of a script that npm writes, bytes; a typical script has about 500. */
const MAX_SCRIPT_BYTES = 64 * 1_024

export const thisSystem = (env: ProgramSystem['env']): ProgramSystem => ({
  platform: process.platform,
  env,
  read: (path) => {
    try {
      return statSync(path).size <= MAX_SCRIPT_BYTES ? readFileSync(path, 'utf8') : null
    } catch {
      return null
    }
  },
  exists: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false,
})

/** Returns how to start a program. Throws UsageError for a script that no package manager wrote. */
export function findProgram(program: string, system: ProgramSystem): Startable {
  const path = system.platform === 'win32' ? pathOf(program, system) : null
  if (path === null) return { file: program, before: [] } // the system finds it, or says that it is missing
  if (!/\.(cmd|bat)$/i.test(path)) return { file: path, before: [] }
  const started = startedBy(system.read(path) ?? '')
  if (started === null)
    throw new UsageError(
      `${path} is a script for cmd.exe, to which arguments cannot be passed safely; name the program that it starts`,
    )
  const target = win32.join(win32.dirname(path), started)
  return /\.exe$/i.test(target) ? { file: target, before: [] } : { file: process.execPath, before: [target] }
}

/** Returns the path of the program, found in the same way as by cmd.exe. */
function pathOf(program: string, { env, exists }: ProgramSystem): string | null {
  const extensions = (env.PATHEXT ?? '.COM;.EXE;.BAT;.CMD').split(';').filter(Boolean)
  const names = win32.extname(program) ? [program] : []
  names.push(...extensions.map((extension) => program + extension.toLowerCase()))
  const places = /[\\/]/.test(program) ? [''] : (env.PATH ?? env.Path ?? '').split(';').filter(Boolean)
  for (const place of places)
    for (const name of names) {
      const path = win32.join(place.replaceAll('"', ''), name)
      if (exists(path)) return path
    }
  return null
}

/** Returns the program to which a script of npm or pnpm passes all arguments, relative to the script. */
const startedBy = (script: string): string | null =>
  /"%(?:~dp0|dp0%)\\?([^"%]+)"\s+%\*/i.exec(script)?.[1] ?? null
