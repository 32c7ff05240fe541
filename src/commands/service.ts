// `waybill service`: the gateway as a service of this user, which starts with the login: a unit of systemd, or an agent of
// launchd. Says what it writes, and removes it. Keys come from keys.env next to the configuration.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { loadConfig } from '../config/load.ts'
import { ownCommand } from '../shared/package-root.ts'
import { print, UsageError } from './output.ts'

type Env = Readonly<Record<string, string | undefined>>

interface ServiceOptions {
  readonly config: string
  /** True to print the file, and to write nothing. */
  readonly print?: boolean
  readonly follow?: boolean
  readonly env: Env
}

/** A manager of services: its file, and the commands that it needs. */
interface Manager {
  readonly file: string
  /** Command that succeeds if the manager runs. */
  readonly probe: readonly string[]
  readonly absent: string
  text(words: readonly string[], config: string): string
  readonly installed: readonly (readonly string[])[]
  readonly start: readonly string[]
  readonly stop: readonly string[]
  readonly status: readonly string[]
  logs(follow: boolean): readonly string[]
  readonly removed: readonly (readonly string[])[]
}

const homeOf = (env: Env): string => env.HOME || homedir()

/** Quotes a word of a command as systemd reads it. */
const unitWord = (word: string): string =>
  `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`

function systemd(env: Env): Manager {
  const user = ['systemctl', '--user']
  return {
    file: join(env.XDG_CONFIG_HOME || join(homeOf(env), '.config'), 'systemd', 'user', 'waybill.service'),
    probe: [...user, 'show-environment'],
    absent: 'there is no systemd for this user here; run `waybill serve`, or see docs/operations.md',
    text: (
      words,
      config,
    ) => `# Written by \`waybill service install\`; \`waybill service uninstall\` removes it.
[Unit]
Description=Waybill, a gateway for language models
Documentation=file:${dirname(config).replaceAll(' ', '%%20')}

[Service]
ExecStart=${words.map(unitWord).join(' ')}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory=${dirname(config).replaceAll('%', '%%')}
Restart=on-failure
# Longer than the time that the gateway gives open calls.
TimeoutStopSec=45
UMask=0077
NoNewPrivileges=true

[Install]
WantedBy=default.target
`,
    installed: [
      [...user, 'daemon-reload'],
      [...user, 'enable', 'waybill.service'],
    ],
    start: [...user, 'start', 'waybill.service'],
    stop: [...user, 'stop', 'waybill.service'],
    status: [...user, '--no-pager', 'status', 'waybill.service'],
    logs: (follow) => [
      'journalctl',
      '--user-unit',
      'waybill.service',
      '--no-pager',
      '-n',
      '100',
      ...(follow ? ['-f'] : []),
    ],
    removed: [
      [...user, 'disable', '--now', 'waybill.service'],
      [...user, 'daemon-reload'],
    ],
  }
}

const LABEL = 'dev.waybill.gateway'
const xml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function launchd(env: Env): Manager {
  const file = join(homeOf(env), 'Library', 'LaunchAgents', `${LABEL}.plist`)
  const log = join(homeOf(env), 'Library', 'Logs', 'waybill.log')
  const domain = `gui/${process.getuid?.() ?? 501}`
  return {
    file,
    probe: ['launchctl', 'print', domain],
    absent: 'launchd does not answer for this user; run `waybill serve`',
    text: (words, config) => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by \`waybill service install\`; \`waybill service uninstall\` removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key><string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>${words.map((word) => `<string>${xml(word)}</string>`).join('')}</array>
  <key>WorkingDirectory</key><string>${xml(dirname(config))}</string>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>45</integer>
  <key>StandardOutPath</key><string>${xml(log)}</string>
  <key>StandardErrorPath</key><string>${xml(log)}</string>
</dict>
</plist>
`,
    installed: [],
    start: ['launchctl', 'bootstrap', domain, file],
    stop: ['launchctl', 'bootout', `${domain}/${LABEL}`],
    status: ['launchctl', 'print', `${domain}/${LABEL}`],
    logs: (follow) => ['tail', '-n', '100', ...(follow ? ['-f'] : []), log],
    removed: [['launchctl', 'bootout', `${domain}/${LABEL}`]],
  }
}

function managerOf(env: Env): Manager {
  if (process.platform === 'win32')
    throw new Error(
      'there are no services of this kind on Windows; run `waybill serve` with the Task Scheduler',
    )
  return process.platform === 'darwin' ? launchd(env) : systemd(env)
}

/** Returns the manager if it runs here. Throws if it does not. */
function runningManager(env: Env): Manager {
  const manager = managerOf(env)
  const [program, ...args] = manager.probe
  if (spawnSync(program!, args, { stdio: 'ignore', env }).status !== 0) throw new Error(manager.absent)
  return manager
}

/** Writes the service's file and announces it. Throws ConfigError for a configuration that `serve` would refuse. */
export async function installService({
  config: given,
  print: isPrinted,
  env,
}: ServiceOptions): Promise<void> {
  const config = resolve(given)
  const words = [...ownCommand(), 'serve', '--config', config]
  const manager = managerOf(env)
  const text = manager.text(words, config)
  if (isPrinted) {
    print(`# ${manager.file}`)
    process.stdout.write(text)
    return
  }
  loadConfig(config, { env: {} }) // the service has no variables of this shell
  runningManager(env)
  mkdirSync(dirname(manager.file), { recursive: true })
  writeFileSync(manager.file, text)
  print(`Written: ${manager.file}`)
  process.stdout.write(text.replaceAll(/^(?=.)/gm, '  '))
  for (const command of manager.installed) await run(command, env)
  print('Start it with `waybill service start`. Remove it with `waybill service uninstall`.')
}

/** Stops the service and removes its file. */
export async function uninstallService({ env }: ServiceOptions): Promise<void> {
  const manager = managerOf(env)
  if (!existsSync(manager.file)) {
    print(`${manager.file} is not there; nothing was changed`)
    return
  }
  const [stop, ...rest] = runningManager(env).removed
  if (stop) await run(stop, env, 'ignore')
  rmSync(manager.file)
  for (const command of rest) await run(command, env)
  print(`Removed: ${manager.file}`)
}

/** Runs a command of the installed service. Returns its exit code. */
export async function controlService(
  what: 'start' | 'stop' | 'status' | 'logs',
  { follow = false, env }: ServiceOptions,
): Promise<number> {
  const manager = runningManager(env)
  if (!existsSync(manager.file))
    throw new UsageError('the service is not installed; run `waybill service install` first')
  return run(what === 'logs' ? manager.logs(follow) : manager[what], env, 'inherit', true)
}

/** Runs a command of the manager. Rejects if it fails, unless its exit code is the answer. */
async function run(
  [program, ...args]: readonly string[],
  env: Env,
  stdio: 'inherit' | 'ignore' = 'inherit',
  isAnswer = false,
): Promise<number> {
  const child = spawn(program!, args, { stdio, env })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0 && !isAnswer && stdio !== 'ignore')
    throw new Error(`\`${[program, ...args].join(' ')}\` failed (${code})`)
  return code ?? 1
}
