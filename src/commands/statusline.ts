// `waybill statusline [install|uninstall|doctor]`: the status line's other side, run by a person.
import type { Key } from '../statusline/client-settings.ts'
import { diagnose } from '../statusline/doctor.ts'
import { install, uninstall } from '../statusline/install.ts'
import { dataDirectory, program, SCOPES, type Scope, script, settingsFile } from '../statusline/places.ts'
import { DEFAULT_URL, statusLine } from '../statusline/program.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface StatuslineOptions {
  readonly env: Env
  readonly scope: string
  readonly subagents?: boolean
}

/** Renders the line, as the bundle does, but behind the command line's own start-up. */
export async function draw(args: readonly string[], env: Env): Promise<void> {
  const { stdout, stderr } = await statusLine(args, { stdin: process.stdin, env, now: Date.now })
  process.stderr.write(stderr)
  process.stdout.write(stdout)
}

export interface InstallCommand extends StatuslineOptions {
  readonly sh?: boolean
  readonly wrap?: boolean
  readonly url?: string
  readonly keyFile?: string
  readonly segments?: string
  readonly theme?: string
}

/** Throws where the settings are foreign, broken or cannot be written. */
export function installLine({ env, sh = false, wrap = false, ...rest }: InstallCommand): void {
  const given: Record<string, string | undefined> = {
    '--url': rest.url,
    '--key-file': rest.keyFile,
    '--segments': rest.segments,
    '--theme': rest.theme,
  }
  const options = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
  const key = keyOf(rest)
  if (key === 'subagentStatusLine') options.push('--subagents')
  const file = settingsFile(scopeOf(rest.scope), env, process.cwd())
  const directory = dataDirectory(env)
  if (wrap && sh) throw new Error('`--wrap` needs the program; leave out `--sh`')
  const words = [...(sh ? script(directory) : program()), ...options]
  const command = install({ file, key, directory, wrap, words })
  process.stdout.write(
    `${file} runs now\n  ${command}\nTake it back with \`waybill statusline uninstall\`.\n`,
  )
}

const OUTCOMES = {
  restored: 'is as it was without our line',
  nothing: 'has no line of ours; nothing was changed',
  edited: 'has a line that somebody edited after us; it was left alone',
}

export function uninstallLine({ env, ...rest }: StatuslineOptions): void {
  const file = settingsFile(scopeOf(rest.scope), env, process.cwd())
  const outcome = uninstall({ file, key: keyOf(rest), directory: dataDirectory(env) })
  process.stdout.write(`${file} ${OUTCOMES[outcome]}\n`)
}

/** Throws when something is not well, after it has said what. */
export async function doctor(options: {
  env: Env
  url?: string
  keyFile?: string
  session?: string
}): Promise<void> {
  const { env } = options
  const findings = await diagnose({
    env,
    cwd: process.cwd(),
    url: new URL(options.url ?? env.WAYBILL_URL ?? DEFAULT_URL),
    keyFile: options.keyFile ?? env.WAYBILL_KEY_FILE ?? null,
    sessionId: options.session ?? null,
  })
  for (const { ok, text } of findings) process.stdout.write(`${ok ? 'ok  ' : 'BAD '} ${text}\n`)
  if (findings.some(({ ok }) => !ok)) throw new Error('problems were found; see BAD above')
}

const keyOf = ({ subagents }: Pick<StatuslineOptions, 'subagents'>): Key =>
  subagents ? 'subagentStatusLine' : 'statusLine'

function scopeOf(scope: string): Scope {
  const known = SCOPES.find((each) => each === scope)
  if (!known) throw new Error(`--scope is one of ${SCOPES.join(', ')}`)
  return known
}
