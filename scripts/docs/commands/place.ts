// Commands of the documentation. Extracts testable blocks from Markdown: commands, with or without their output, and files.
// Opens the place where those of one page run: a directory with the examples, an empty home, the packed program as
// `waybill`, and free ports instead of the page's ports. The README's commands run in a clone.
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'

/**
 * Block with its attributes, which follow the language: `not-run="why"`; `runs-on` (its last command runs
 * until the end of the page; the next block waits until it prints something, or the text that `runs-on`
 * names); `exit=1`; `seconds=60`; `after-ctrl-c`, in README: first ends what is still running;
 * `needs="pytest"`: skipped if this program is missing; `file=NAME`, written before the next block runs;
 * `from=PATH`, whose text it must equal.
 */
export interface CommandBlock {
  readonly line: number
  readonly language: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
}

interface Command {
  readonly command: string
  /** Expected output; null if the block shows none. */
  readonly output: string | null
}

export function commandBlocks(markdown: string): CommandBlock[] {
  return [...markdown.matchAll(/^( *)(`{3,})(\w*)([^\n`]*)\n([\s\S]*?)^\1\2 *$/gm)].map((found) => {
    const [, indent = '', , language = '', info = '', text = ''] = found
    const attributes = [...info.matchAll(/([\w-]+)(?:=(?:"([^"]*)"|(\S+)))?/g)].map(
      ([, name, quoted, bare]) => [name!, quoted ?? bare ?? ''],
    )
    return {
      line: markdown.slice(0, found.index).split('\n').length,
      language,
      attributes: Object.fromEntries(attributes),
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }
  })
}

/**
 * Returns the commands of a block. `sh`: one script, without output. `console`: a command after each `$ `,
 * with its output below.
 */
export function commandsOf({ language, text }: CommandBlock): Command[] {
  if (language === 'sh') return [{ command: text, output: null }]
  const commands: { command: string; output: string }[] = []
  let goesOn = false
  for (const line of text.split('\n')) {
    const last = commands.at(-1)
    if (goesOn) last!.command += `\n${line}`
    else if (line.startsWith('$ ')) commands.push({ command: line.slice(2), output: '' })
    else if (last) last.output += `${line}\n`
    else if (line !== '')
      throw new Error(`a console block begins with "$ ", not with ${JSON.stringify(line)}`)
    goesOn = (goesOn || line.startsWith('$ ')) && line.endsWith('\\')
  }
  return commands
}

/** Returns true if the actual output matches. `…` matches any text; trailing spaces of lines are ignored. */
export function wasPrinted(expected: string, actual: string): boolean {
  const plain = (text: string) => text.replaceAll(/[ \t\r]+$/gm, '').trim()
  const pattern = plain(expected)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[\\s\\S]*?')
  return new RegExp(`^${pattern}$`).test(plain(actual))
}

/** Ports that the documentation uses. */
const PORTS = ['4949', '4950', '4951', '8080', '8081', '9410', '9411']

interface Sandbox {
  run(block: CommandBlock): Promise<void>
  /** Ends all running processes, like Ctrl-C. Rejects if a process keeps running. */
  close(): Promise<void>
}

interface Setup {
  /** Root of the repository. */
  readonly root: string
  readonly directory: string
  readonly home: string
  readonly path: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Called with the output of the commands. */
  readonly onOutput?: (text: string) => void
}

/** Opens a place. `root` is the repository, `modules` a node_modules with the packed program. */
export function openPlace(root: string, modules: string, directory: string): Promise<Sandbox> {
  const home = join(directory, 'home')
  mkdirSync(home, { recursive: true })
  cpSync(join(root, 'examples'), join(directory, 'examples'), { recursive: true })
  symlinkSync(modules, join(directory, 'node_modules'))
  for (const name of ['package.json', 'dist', 'recordings', 'docs'])
    symlinkSync(join(modules, 'waybill', name), join(directory, name))
  const path = [join(modules, '.bin'), dirname(process.execPath), process.env.PATH ?? '']
  return openIn({ root, directory, home, path })
}

/** Runs blocks in an existing directory. */
export async function openIn({ root, directory, home, path, env: more, onOutput }: Setup): Promise<Sandbox> {
  const free = await freePorts(PORTS.length)
  const swap = (text: string, from: readonly string[], to: readonly string[]) =>
    from.reduce((changed, port, n) => changed.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), to[n]!), text)
  const there = (text: string) => swap(text, PORTS, free)
  const back = (text: string) => swap(text, free, PORTS).replaceAll(directory, '/home/you/project')
  const env = { ...environmentOf(home, path, free[0]!), ...more }
  const running: ChildProcess[] = []

  async function run(block: CommandBlock): Promise<void> {
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
        onOutput?.(part)
      })
      if (runsOn) running.push(child)
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
      const limit = Math.max(300, Number(attributes.seconds ?? 0)) * 1_000 // ends what hangs, and judges no speed
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
    const left: number[] = []
    for (const child of running.splice(0)) {
      kill(child, 'SIGINT')
      for (let n = 0; n < 200 && isAlive(child); n++) await wait(50)
      if (isAlive(child)) left.push(child.pid!)
      kill(child, 'SIGKILL')
    }
    if (left.length > 0) throw new Error(`Ctrl-C did not end ${left.length} of the programs that ran on`)
  }
  return { run, close }
}

/** Returns the environment of every command, without additions of its page. */
const environmentOf = (home: string, path: readonly string[], port: string): NodeJS.ProcessEnv => ({
  PATH: path.join(delimiter),
  HOME: home,
  LANG: 'C.UTF-8',
  NO_COLOR: '1',
  COLUMNS: '100',
  WAYBILL_PORT: port,
  WAYBILL_URL: `http://127.0.0.1:${port}`,
  // Variables for access to registries on this machine, and for compilers' caches, which avoid repeated
  // builds.
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => /^npm_config_|CERT|_proxy$|^GOPROXY$/i.test(name)),
  ),
  npm_config_userconfig: process.env.npm_config_userconfig ?? join(process.env.HOME ?? '', '.npmrc'),
  GOCACHE: process.env.GOCACHE ?? join(process.env.HOME ?? '', '.cache/go-build'),
  PYTHONDONTWRITEBYTECODE: '1',
  // A page's command must not install anything on the machine itself.
  PIP_REQUIRE_VIRTUALENV: '1',
  npm_config_prefix: join(home, 'npm'),
})

/** Prelude of every command: sends all output to one stream, and keeps exported variables. */
const PRELUDE = `exec 2>&1
[ ! -f ~/.exports ] || . ~/.exports
trap 'export -p | grep -vE " (OLD)?PWD=" > ~/.exports' EXIT
`

/** Signals a process and everything that it started. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid!, signal)
  } catch {
    // It has ended.
  }
}

/** Returns true while one of a command's processes is running. */
function isAlive({ pid }: ChildProcess): boolean {
  try {
    return process.kill(-pid!, 0)
  } catch {
    return false
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

/** Returns true if the shell finds a program of this name. */
export const isThere = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((each) => existsSync(join(each, program)))
