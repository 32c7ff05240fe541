// Targets of the measurements, each a separate process: their start, calls and end. Gateways of other projects are installed in
// a scratch directory by their files in `../gateways`, and configured for one chat provider. Contains no figures.
import { type ChildProcess, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/test/test-cli.ts'
import { installGateway, readPeer } from '../gateways/gateway.ts'

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
const PATH = '/v1/chat/completions'

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

interface Place {
  readonly port: number
  /** Base URL of the provider, without `/v1`. */
  readonly origin: string
  /** Directory of the installation, and directory of the gateway's own files. */
  readonly home: string
  readonly data: string
}

interface Other {
  /** Command, with arguments. */
  command(place: Place): readonly string[]
  /** Files to write below the data directory. */
  files?(place: Place): Readonly<Record<string, string>>
  env?(place: Place): Readonly<Record<string, string>>
  headers(place: Place): Readonly<Record<string, string>>
  readonly model?: string
  readonly speaks: NonNullable<BenchTarget['speaks']>
  /** Maximum time of a start, s; most take less. */
  readonly startSeconds: number
}

const OTHERS_KEY = 'sk-bench-bench-bench'

const OTHERS: Readonly<Record<string, Other>> = {
  portkey: {
    command: ({ home, port }) => [
      process.execPath,
      join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
      `--port=${port}`,
      '--headless',
    ],
    headers: ({ origin }) => ({
      authorization: `Bearer ${OTHERS_KEY}`,
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${origin}/v1`,
    }),
    speaks: { chat: true, messages: false },
    startSeconds: 10,
  },
  'claude-code-router': {
    command: ({ home }) => [
      process.execPath,
      join(home, 'node_modules/@musistudio/claude-code-router/dist/cli.js'),
      'start',
    ],
    files: ({ port, origin }) => ({
      '.claude-code-router/config.json': JSON.stringify({
        ...{ HOST: '127.0.0.1', PORT: port, APIKEY: OTHERS_KEY, LOG: false, NON_INTERACTIVE_MODE: true },
        Providers: [
          {
            name: 'bench',
            api_base_url: `${origin}${PATH}`,
            api_key: OTHERS_KEY,
            models: ['bench-model'],
          },
        ],
        Router: { default: 'bench,bench-model' },
      }),
    }),
    env: ({ data }) => ({ HOME: data }),
    headers: () => ({ authorization: `Bearer ${OTHERS_KEY}`, 'x-api-key': OTHERS_KEY }),
    model: 'bench,bench-model',
    speaks: { chat: true, messages: true },
    startSeconds: 30,
  },
  litellm: {
    command: ({ home, data, port }) => [
      ...[join(home, 'bin/litellm'), '--config', join(data, 'config.yaml')],
      ...['--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False'],
    ],
    files: ({ origin }) => ({
      'config.yaml': `model_list:
  - model_name: auto
    litellm_params: { model: openai/bench-model, api_base: "${origin}/v1", api_key: ${OTHERS_KEY} }
general_settings: { master_key: ${OTHERS_KEY} }
`,
    }),
    env: () => ({ LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False', NO_DOCS: 'True' }),
    headers: () => ({ authorization: `Bearer ${OTHERS_KEY}` }),
    speaks: { chat: true, messages: true },
    startSeconds: 120,
  },
}

export const OTHER_NAMES = Object.keys(OTHERS)

/** Starts another gateway, without a record; prints the reason and returns null if that is not possible. */
export async function startOther(name: string, upstream: BenchTarget): Promise<BenchTarget | null> {
  const other = OTHERS[name]!
  const scratch = join(tmpdir(), 'waybill-bench-others')
  const home = join(scratch, name)
  const peer = await readPeer(name)
  if (!installGateway(name, peer, home)) return leaveOut(name, 'it could not be installed')
  const place = {
    port: await freePort(),
    origin: new URL(upstream.url).origin,
    home,
    data: join(home, 'bench'),
  }
  for (const [file, text] of Object.entries(other.files?.(place) ?? {})) {
    mkdirSync(dirname(join(place.data, file)), { recursive: true })
    writeFileSync(join(place.data, file), text)
  }
  const [command, ...args] = other.command(place)
  const env = { ...process.env, NODE_ENV: 'production', ...other.env?.(place) }
  const child = spawn(command!, args, { cwd: home, env, stdio: 'ignore' })
  const url = `http://127.0.0.1:${place.port}${PATH}`
  const target: BenchTarget = {
    ...{ name, url, headers: other.headers(place), pid: child.pid!, stop: () => end(child) },
    ...(other.model && { model: other.model }),
    speaks: other.speaks,
    about: `${versionOf(peer.install)}, no record`,
  }
  for (let tries = 0; !(await isListening(place.port)); tries++) {
    if (tries === other.startSeconds * 10 || child.exitCode !== null) {
      await end(child)
      return leaveOut(name, 'it does not start')
    }
    await sleep(100)
  }
  return target
}

function leaveOut(name: string, reason: string): null {
  console.log(`${name} is left out: ${reason}`)
  return null
}

/** Returns the package and version that the first matching install line names. */
const versionOf = (lines: readonly string[]): string =>
  /[@\w/[\]-]+(@|==)\d[\d.]*/.exec(lines.join('\n'))?.[0] ?? 'unknown version'

async function isListening(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`)
    return true
  } catch {
    return false
  }
}
