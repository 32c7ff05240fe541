// Where the commands of one page run: a directory of its own with the examples, an empty home, the packed program as
// `waybill`, and free ports in the place of those that the page names.
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { type Block, commandsOf, wasPrinted } from './blocks.ts'

/** Ports that the documentation uses. */
const PORTS = ['4949', '4950', '4951', '8080', '8081', '9410', '9411']

export interface Place {
  run(block: Block): Promise<void>
  close(): Promise<void>
}

/** `root`: the repository; `modules`: a node_modules with the packed program in it. */
export async function openPlace(root: string, modules: string, directory: string): Promise<Place> {
  mkdirSync(join(directory, 'home'), { recursive: true })
  cpSync(join(root, 'examples'), join(directory, 'examples'), { recursive: true })
  symlinkSync(modules, join(directory, 'node_modules'))
  for (const name of ['package.json', 'dist', 'recordings', 'docs'])
    symlinkSync(join(modules, 'waybill', name), join(directory, name))
  const free = await freePorts(PORTS.length)
  const swap = (text: string, from: readonly string[], to: readonly string[]) =>
    from.reduce((changed, port, n) => changed.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), to[n]!), text)
  const there = (text: string) => swap(text, PORTS, free)
  const back = (text: string) => swap(text, free, PORTS).replaceAll(directory, '/home/you/project')
  const env = {
    PATH: [join(modules, '.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: join(directory, 'home'),
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    COLUMNS: '100',
    WAYBILL_PORT: free[0]!,
    WAYBILL_URL: `http://127.0.0.1:${free[0]}`,
    // How this machine reaches registries, and what compilers keep, so that they need not build it again.
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => /^npm_config_|CERT|_proxy$|^GOPROXY$/i.test(name)),
    ),
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(process.env.HOME ?? '', '.npmrc'),
    GOCACHE: process.env.GOCACHE ?? join(process.env.HOME ?? '', '.cache/go-build'),
    PYTHONDONTWRITEBYTECODE: '1',
    // A command of a page installs nothing on the machine itself.
    PIP_REQUIRE_VIRTUALENV: '1',
    npm_config_prefix: join(directory, 'home/npm'),
  }
  const running: ChildProcess[] = []

  async function run(block: Block): Promise<void> {
    const { attributes, text } = block
    if (attributes.from !== undefined && readFileSync(join(root, attributes.from), 'utf8') !== text)
      throw new Error(`differs from ${attributes.from}`)
    if (attributes.file !== undefined) {
      mkdirSync(dirname(join(directory, attributes.file)), { recursive: true })
      writeFileSync(join(directory, attributes.file), there(text))
    }
    if (block.language !== 'sh' && block.language !== 'console') return
    const commands = commandsOf(block)
    for (const [n, { command, output }] of commands.entries()) {
      const runsOn = attributes['runs-on'] !== undefined && n === commands.length - 1
      const fits = (said: string) =>
        runsOn && attributes['runs-on']
          ? said.includes(attributes['runs-on'])
          : output === null || wasPrinted(output, said)
      const child = spawn('bash', ['-euo', 'pipefail', '-c', `${PRELUDE}${there(command)}`], {
        cwd: directory,
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        printed += part
      })
      if (runsOn) running.push(child)
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
      const limit = Number(attributes.seconds ?? 30) * 1_000
      const failed = (what: string) =>
        new Error(
          `${what}: ${command.trim()}\n${indented(output ?? '')}  it printed\n${indented(back(printed))}`,
        )
      if (runsOn) {
        const until = Date.now() + limit
        while (!fits(back(printed)) && child.exitCode === null && Date.now() < until) await wait(50)
        if (!fits(back(printed)) || child.exitCode !== null) throw failed('this did not come to run')
        continue
      }
      const timer = setTimeout(() => kill(child, 'SIGKILL'), limit)
      const code = await ended
      clearTimeout(timer)
      if (code !== Number(attributes.exit ?? 0)) throw failed(`this ended with ${code}`)
      if (!fits(back(printed))) throw failed('this prints something else')
    }
  }

  async function close(): Promise<void> {
    for (const child of running) {
      kill(child, 'SIGTERM')
      for (let n = 0; n < 100 && child.exitCode === null && child.signalCode === null; n++) await wait(50)
      kill(child, 'SIGKILL')
    }
  }
  return { run, close }
}

/** One stream for all that is printed, and what a command exports is there for the next one. */
const PRELUDE = `exec 2>&1
[ ! -f ~/.exports ] || . ~/.exports
trap 'export -p | grep -vE " (OLD)?PWD=" > ~/.exports' EXIT
`

/** With everything that it started. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid!, signal)
  } catch {
    // It has ended.
  }
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const indented = (text: string) => text.trimEnd().replaceAll(/^/gm, '    ').concat('\n')

async function freePorts(count: number): Promise<string[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))))
  const ports = servers.map((server) => String((server.address() as AddressInfo).port))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** Whether the shell knows a program of this name. */
export const isThere = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((each) => existsSync(join(each, program)))
