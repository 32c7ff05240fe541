// Gateways of other projects as targets of the measurements, installed in a scratch directory by their files
// in `../gateways`. Contains their configurations for one chat provider, but no figures.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/test/test-cli.ts'
import { installGateway, readPeer } from '../gateways/gateway.ts'
import { type BenchTarget, end, PATH } from './targets.ts'

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

const KEY = 'sk-bench-bench-bench'

const OTHERS: Readonly<Record<string, Other>> = {
  portkey: {
    command: ({ home, port }) => [
      process.execPath,
      join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
      `--port=${port}`,
      '--headless',
    ],
    headers: ({ origin }) => ({
      authorization: `Bearer ${KEY}`,
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
        ...{ HOST: '127.0.0.1', PORT: port, APIKEY: KEY, LOG: false, NON_INTERACTIVE_MODE: true },
        Providers: [
          {
            name: 'bench',
            api_base_url: `${origin}${PATH}`,
            api_key: KEY,
            models: ['bench-model'],
          },
        ],
        Router: { default: 'bench,bench-model' },
      }),
    }),
    env: ({ data }) => ({ HOME: data }),
    headers: () => ({ authorization: `Bearer ${KEY}`, 'x-api-key': KEY }),
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
    litellm_params: { model: openai/bench-model, api_base: "${origin}/v1", api_key: ${KEY} }
general_settings: { master_key: ${KEY} }
`,
    }),
    env: () => ({ LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False', NO_DOCS: 'True' }),
    headers: () => ({ authorization: `Bearer ${KEY}` }),
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
