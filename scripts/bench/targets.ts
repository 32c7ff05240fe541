// Targets of the measurements, each a separate process: their start, calls and end. Contains no figures.
import { type ChildProcess, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface BenchTarget {
  readonly name: string
  /** URL of chat completions. */
  readonly url: string
  /** Model to request; default: `auto`. */
  readonly model?: string
  /** False if the target does not serve chat calls, or Messages calls at a chat provider. */
  readonly speaks?: { readonly chat: boolean; readonly messages: boolean }
  readonly headers: Readonly<Record<string, string>>
  /** Version and origin, for the report. */
  readonly about: string
  readonly pid: number
  /** Ends the process. */
  stop(): Promise<void>
}

const ROOT = join(import.meta.dirname, '../..')
export const PATH = '/v1/chat/completions'

/** Starts the provider. Its direct measurement is the lower bound. */
export async function startUpstream(): Promise<BenchTarget> {
  const child = run(['--import', 'tsx', join(import.meta.dirname, 'upstream.ts')])
  const url = `http://127.0.0.1:${await said(child, /port (\d+)/)}${PATH}`
  return {
    name: 'direct',
    url,
    headers: {},
    about: 'no proxy at all',
    pid: child.pid!,
    stop: () => end(child),
  }
}

export async function startBareProxy(upstream: BenchTarget): Promise<BenchTarget> {
  const { origin } = new URL(upstream.url)
  const child = run(['--import', 'tsx', join(import.meta.dirname, 'bare-proxy.ts'), origin])
  const url = `http://127.0.0.1:${await said(child, /port (\d+)/)}${PATH}`
  return {
    name: 'bare proxy',
    url,
    headers: {},
    about: 'undici Pool, no record',
    pid: child.pid!,
    stop: () => end(child),
  }
}

interface WaybillOptions {
  /** Arguments for Node. */
  readonly nodeArgs?: readonly string[]
  /** Additions to the configuration. */
  readonly more?: string
  /** Checkout with the build to start, and its name in the tables. */
  readonly root?: string
  readonly name?: string
  /** True if calls need and have a key; their costs are then also summed for the key and its session. */
  readonly keyed?: boolean
}

const KEY = 'wb_bench-key-0123456789'
const KEYS = `keys: [ { name: bench, role: client, digest: "sha256:${hash('sha256', KEY)}" } ]`

/** Starts Waybill with recording enabled, in the data directory `directory`. */
export async function startBenchWaybill(
  upstream: BenchTarget,
  directory: string,
  { nodeArgs = [], more = '', root = ROOT, name = 'waybill', keyed = false }: WaybillOptions = {},
): Promise<BenchTarget> {
  const config = join(directory, 'waybill.yaml')
  writeFileSync(
    config,
    `server: { port: 0 }
data: .
providers:
  bench: { dialect: openai, base_url: ${new URL(upstream.url).origin}/v1 }
  claude: { dialect: messages, base_url: ${new URL(upstream.url).origin} }
models: { bench/bench-model: { price: { input: 1, output: 2 } } }
routes: { auto: { targets: [ { model: bench/bench-model } ] } }
${keyed ? KEYS : ''}
${more}
`,
  )
  const built = isBuilt(root)
  const program = built ? ['dist/cli.js'] : ['--import', 'tsx', 'src/cli.ts']
  const child = run([...nodeArgs, ...program, 'serve', '--config', config], root)
  const url = `${await said(child, /listens on ([^\s"]+)/)}${PATH}`
  const about = `record on, started from ${built ? 'dist' : 'SOURCE, because dist is missing or older than src'}`
  return {
    name,
    url,
    headers: { 'x-session-id': 'bench-session', ...(keyed && { authorization: `Bearer ${KEY}` }) },
    about,
    pid: child.pid!,
    stop: () => end(child),
  }
}

/** Returns true if dist/cli.js is newer than every source file. */
function isBuilt(root: string): boolean {
  const file = join(root, 'dist/cli.js')
  if (!existsSync(file)) return false
  const built = statSync(file).mtimeMs
  return globSync('src/**/*.ts', { cwd: root }).every(
    (source) => statSync(join(root, source)).mtimeMs < built,
  )
}

function run(args: readonly string[], cwd = ROOT): ChildProcess {
  return spawn(process.execPath, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
}

/** Returns the first group of a pattern, once the process has printed it. */
function said(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.once('exit', (code) =>
      reject(new Error(`${child.spawnargs.join(' ')} ended with exit code ${code}`)),
    )
    const read = (part: string) => {
      text += part
      const match = pattern.exec(text)
      if (!match) return
      child.stdout!.off('data', read).resume() // later output is discarded
      resolve(match[1]!)
    }
    child.stdout!.setEncoding('utf8').on('data', read)
  })
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}
