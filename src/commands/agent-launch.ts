// Works out how to start an agent from its entry in the table. Reads files; the caller starts the process.

import { readFileSync, statSync } from 'node:fs'
import { basename, win32 } from 'node:path'
import { AGENTS, type Agent, ANY_PROGRAM, type LaunchModel, type Limits } from './agent-table.ts'
import { UsageError } from './output.ts'

interface LaunchInput {
  /** URL of the gateway, without a trailing slash. */
  readonly url: string
  /** True if the gateway keeps the bodies of the calls. */
  readonly keep?: boolean
  /** Null if the gateway has no keys. */
  readonly key: string | null
  readonly session: string
  /** Null if the agent chooses the model itself. */
  readonly model: string | null
  /** Limits of the model, or of the default route if the agent chooses the model itself. */
  readonly limits: Limits
  /** Environment of the user. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** All models that the agent may request. */
  readonly models: readonly LaunchModel[]
  /** Path of the temporary file. */
  readonly file: string
}

export interface Launch {
  readonly set: Readonly<Record<string, string>>
  readonly unset: readonly string[]
  /** All arguments for the program. */
  readonly args: readonly string[]
  /** Text of the temporary file; null without one. */
  readonly fileText: string | null
}

/** Returns the agent with this program name, regardless of the program's directory. */
export const agentFor = (program: string): Agent =>
  AGENTS.find(({ programs }) => programs.includes(basename(program).replace(/\.(exe|cmd)$/i, ''))) ??
  ANY_PROGRAM

/** Maximum output limit for an agent, in tokens. Agents request all of it in each call, and providers add it to the input. */
const MAX_OUTPUT_TOKENS = 32_000

/**
 * Returns the limits to tell an agent about a model: the output is at most a quarter of the window, so that room is left
 * for the input.
 */
export function toldLimits({ window, output }: Limits): Limits {
  if (window === null) return { window, output: output && Math.min(output, MAX_OUTPUT_TOKENS) }
  return { window, output: Math.min(output ?? MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS, Math.floor(window / 4)) }
}

/** Placeholder key for a gateway without keys, because agents require one. */
const NO_KEY = 'none-needed'

export function launchOf(agent: Agent, args: readonly string[], input: LaunchInput): Launch {
  const { url, key, session, model, file, env } = input
  const { window, output } = input.limits
  const number = (tokens: number | null) => (tokens === null ? null : String(tokens))
  const values: Readonly<Record<string, string | null>> = {
    url: input.keep ? `${url}/keep` : url,
    key: key ?? NO_KEY,
    session,
    model,
    models: JSON.stringify(agent.models?.(input.models) ?? null),
    file,
    window: number(window),
    longWindow: (window ?? 0) >= (agent.leastWindow ?? 0) ? number(window) : null,
    output: number(output),
    prompt: number(window && output && window - output),
  }
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all)
  const isGiven = (text: string): boolean =>
    Object.entries(values).every(([name, value]) => value !== null || !text.includes(`{${name}}`))
  const limits = Object.entries(agent.limits ?? {}).filter(([name]) => env[name] === undefined)
  const set = [...Object.entries(agent.env), ...limits].filter(([, text]) => isGiven(text))
  return {
    set: {
      ...Object.fromEntries(set.map(([name, text]) => [name, fill(text)])),
      // The gateway's address and the session, for the status line that the agent starts.
      WAYBILL_URL: url,
      ...(agent.session === 'own' ? {} : { WAYBILL_SESSION_ID: session }),
    },
    unset: [...(agent.unset ?? []), ...(agent.session === 'own' ? ['WAYBILL_SESSION_ID'] : [])],
    args: [
      ...(agent.options ?? [])
        .filter((option) => option.every(isGiven))
        .flatMap((option) => option.map(fill)),
      ...args,
    ],
    fileText: agent.file ? fill(agent.file.text(input.limits)) : null,
  }
}

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

/**
 * Returns how to start a program that the user named. On Windows, npm installs a program as a script for cmd.exe
 * (`claude.cmd`), which cannot safely receive arbitrary arguments, so the program behind the script is started. Throws
 * UsageError for a script that no package manager wrote.
 */
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
