// `waybill statusline [install|uninstall|doctor]`: the status line's commands.
import { resolve } from 'node:path'
import { diagnose } from '../statusline/doctor.ts'
import { SEGMENT_NAMES, THEME_NAMES } from '../statusline/flags.ts'
import {
  CLIENT_NAMES,
  CLIENTS,
  type Client,
  dataDirectory,
  installLine as installInto,
  installScript,
  type Key,
  program,
  SETTINGS_SCOPES,
  settingsFile,
  uninstall,
} from '../statusline/install.ts'
import { statusLine } from '../statusline/program.ts'
import { DEFAULT_URL, gatewayAddress } from '../statusline/remote-line.ts'
import { findKey } from '../terminal/keys.ts'
import { nearest } from '../yaml/wording.ts'
import { ownersKeyFile } from './find-config.ts'
import { namedGateway, readAddress } from './gateway-client.ts'
import { complain, print, reasonOf, UsageError } from './output.ts'

type Env = Readonly<Record<string, string | undefined>>

interface StatuslineOptions {
  readonly env: Env
  readonly client: string
  readonly scope: string
  readonly subagents?: boolean
}

const SUBCOMMANDS = ['install', 'uninstall', 'doctor']

/** Renders the line like the bundle, but after the start-up of the command line. */
export async function draw(args: readonly string[], env: Env): Promise<void> {
  const [first] = args
  // A client passes only options.
  if (first !== undefined && !first.startsWith('-')) {
    const near = nearest(first, SUBCOMMANDS)
    throw new UsageError(
      `statusline has no command ${JSON.stringify(first)}; ${near === null ? `there are: ${SUBCOMMANDS.join(', ')}` : `did you mean ${near}?`}`,
    )
  }
  const { stdout, stderr } = await statusLine(args, {
    stdin: process.stdin,
    env: withConfiguredAddress(env),
    now: Date.now,
  })
  process.stderr.write(stderr)
  process.stdout.write(stdout)
}

/** Uses the gateway of WAYBILL_CONFIG instead of the default address. A wrong file does not prevent the line. */
function withConfiguredAddress(env: Env): Env {
  if (!env.WAYBILL_CONFIG || gatewayAddress(null, null, env).url !== DEFAULT_URL) return env
  try {
    return { ...env, WAYBILL_URL: namedGateway(undefined, env.WAYBILL_CONFIG, env).href }
  } catch (error) {
    complain(reasonOf(error as Error))
    return env
  }
}

interface InstallCommand extends StatuslineOptions {
  /** Configuration of the gateway, for its address and the owner's key. */
  readonly config: string
  readonly sh?: boolean
  readonly wrap?: boolean
  readonly url?: string
  readonly keyFile?: string
  readonly segments?: string
  readonly theme?: string
}

/** Throws if an option is wrong, or if the settings are foreign, broken or not writable. */
export async function installLine(given: InstallCommand): Promise<void> {
  const command = await withOwnersKey(given)
  const { env, sh = false, wrap = false } = command
  const { client, key, file } = placeOf(command)
  if (wrap && sh) throw new UsageError('--wrap needs the program; leave out --sh')
  if (sh && key === 'subagentStatusLine')
    throw new UsageError('the script draws no rows for subagents; leave out --sh')
  const directory = dataDirectory(env)
  const options = optionsOf(command)
  if (key === 'subagentStatusLine') options.push('--subagents')
  const words = [...(sh ? installScript(directory) : program()), ...options]
  const written = installInto({ file, key, directory, wrap, words })
  print(`${file} now runs`)
  print(`  ${written}`)
  if (client.tie !== undefined) print(client.tie)
  print(undoOf(command))
}

/** Adds the owner's kept key if no key is given, with the only address that it is for. */
async function withOwnersKey(command: InstallCommand): Promise<InstallCommand> {
  const { config, url, keyFile: given, env } = command
  if (given !== undefined || env.WAYBILL_KEY_FILE) return command
  const keyFile = await ownersKeyFile(config, url, env)
  if (keyFile === undefined) return command
  return { ...command, keyFile, url: url ?? namedGateway(undefined, config, env).origin }
}

/** Returns the command that undoes the installation, which needs the same client and place. */
function undoOf({ client, scope, subagents }: InstallCommand): string {
  const options = [
    ...(client === 'claude-code' ? [] : [`--client ${client}`]),
    ...(scope === 'user' ? [] : [`--scope ${scope}`]),
    ...(subagents ? ['--subagents'] : []),
  ]
  const here = scope === 'user' ? '' : ' in this directory'
  return `Undo this with \`${['waybill statusline uninstall', ...options].join(' ')}\`${here}.`
}

/**
 * Returns the options that follow the command. The options are checked now, because the line's errors are not
 * visible later.
 */
function optionsOf({ env, url, keyFile, segments, theme }: InstallCommand): string[] {
  if (url !== undefined) readAddress('--url', url)
  const file = keyFile === undefined ? undefined : resolve(keyFile) // the client runs the command in another directory
  if (file !== undefined) {
    const { problem } = findKey({ ...env, WAYBILL_KEY: undefined }, file)
    if (problem !== null) throw new UsageError(problem)
  }
  for (const name of segments?.split(',') ?? []) oneOf('--segments', name, SEGMENT_NAMES)
  if (theme !== undefined) oneOf('--theme', theme, THEME_NAMES)
  const given = { '--url': url, '--key-file': file, '--segments': segments, '--theme': theme }
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
}

function oneOf<Name extends string>(option: string, text: string, known: readonly Name[]): Name {
  const found = known.find((each) => each === text)
  if (found !== undefined) return found
  const near = nearest(text, known)
  throw new UsageError(
    `${option}: there is no ${JSON.stringify(text)}; ${near === null ? `there are: ${known.join(', ')}` : `did you mean ${near}?`}`,
  )
}

const OUTCOMES = {
  restored: 'is restored, without our line',
  nothing: 'does not have our line; nothing was changed',
  edited: 'has a line that was edited after it was installed; it was left unchanged',
}

export function uninstallLine(options: StatuslineOptions): void {
  const { key, file } = placeOf(options)
  const outcome = uninstall({ file, key, directory: dataDirectory(options.env) })
  print(`${file} ${OUTCOMES[outcome]}`)
}

/** Prints the findings; throws if something is wrong. */
export async function lineDoctor(options: {
  env: Env
  client: string
  url?: string
  keyFile?: string
  session?: string
}): Promise<void> {
  const { env } = options
  const findings = await diagnose({
    client: CLIENTS[oneOf('--client', options.client, CLIENT_NAMES)],
    env: withConfiguredAddress(env),
    cwd: process.cwd(),
    url: options.url === undefined ? null : readAddress('--url', options.url),
    keyFile: options.keyFile ?? null,
    sessionId: options.session ?? null,
  })
  for (const { ok, text } of findings)
    for (const [n, line] of text.split('\n').entries())
      print(n > 0 ? line : `${ok ? 'ok  ' : 'BAD '} ${line}`)
  if (findings.some(({ ok }) => !ok)) throw new Error('problems were found; see BAD above')
}

/** Returns the settings to change. Throws UsageError. */
function placeOf({ env, client: name, scope: width, subagents }: StatuslineOptions): {
  client: Client
  key: Key
  file: string
} {
  const client: Client = CLIENTS[oneOf('--client', name, CLIENT_NAMES)]
  if (subagents && client !== CLIENTS['claude-code'])
    throw new UsageError(`${client.title} has no rows for subagents; leave out --subagents`)
  const scope = oneOf('--scope', width, SETTINGS_SCOPES)
  const file = settingsFile(client, scope, env, process.cwd())
  if (file === null) throw new UsageError(`${client.title} has no ${scope} settings; use --scope project`)
  return { client, key: subagents ? 'subagentStatusLine' : client.key, file }
}
