// What it takes to run a gateway of another project: one file for each in peers/, which says how it is installed,
// where its program is then, and what it needs beside it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Peer {
  /** Shell lines, run in the gateway's own directory; $NODE is this Node, $PROJECT where this project lies. */
  readonly install: readonly string[]
  /** Where its program is, below that directory. */
  readonly bin: string
  /** Added to the environment of the suite, from where the target file takes it as `{{env.NAME}}`. */
  readonly env?: (directory: string) => Record<string, string>
  /** Servers that run as long as the gateway does; each says in SERVICES what it adds to the environment. */
  readonly services?: readonly ServiceName[]
}

/** A server that was started: what it adds to the environment, and how it is ended. */
interface Service {
  readonly env: Readonly<Record<string, string>>
  end(): Promise<void>
}

export const SERVICES = {
  /** A PostgreSQL from Debian's packages, on a socket in a scratch directory, with an empty database. */
  async postgres(): Promise<Service> {
    const { NO_POSTGRES, startPostgres } = await import('../src/test-postgres.ts')
    if (NO_POSTGRES !== false) throw new Error(NO_POSTGRES)
    const server = await startPostgres()
    // The same for programs that cannot take a socket out of an address, as libpq reads it.
    const parts = { PGHOST: server.directory, PGUSER: 'waybill', PGDATABASE: 'peer' }
    return {
      env: { DATABASE_URL: await server.database('peer'), ...parts },
      end: () => server.end(),
    }
  },
}
export type ServiceName = keyof typeof SERVICES

/** Installs packages of npm where the line runs. */
export const NPM = 'npm install --no-save --no-audit --no-fund --ignore-scripts --prefix .'

/** The tables by which tokens are counted, which some fetch at their start: LiteLLM's package holds the two that matter. */
export const TOKEN_TABLES = [
  'pip download --quiet --no-deps --only-binary :all: -d . litellm==1.106.2',
  'mkdir tokens && python3 -m zipfile -e litellm-*.whl wheel && cp wheel/litellm/litellm_core_utils/tokenizers/[0-9a-f]* tokens/',
  'rm -r wheel litellm-*.whl',
]
/** Where they are, as the tokenizer of OpenAI reads it. */
export const tokenTables = (directory: string) => ({ TIKTOKEN_CACHE_DIR: join(directory, 'tokens') })

const here = fileURLToPath(new URL('peers/', import.meta.url))
/** The gateways that there is a file for. */
export const peerNames: readonly string[] = readdirSync(here).map((file) => file.replace(/\.ts$/, ''))
export const readPeer = async (name: string): Promise<Peer> =>
  ((await import(`./peers/${name}.ts`)) as { peer: Peer }).peer

/** Runs the install lines where they have not been run; false when one fails. */
export function install(name: string, { install: lines }: Peer, directory: string): boolean {
  const mark = join(directory, '.installed')
  if (existsSync(mark)) return true
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  for (const line of lines) {
    const env = {
      ...process.env,
      NODE: process.execPath,
      PROJECT: fileURLToPath(new URL('..', import.meta.url)),
    }
    const { status } = spawnSync('sh', ['-c', line], { cwd: directory, env, stdio: 'inherit' })
    if (status === 0) continue
    process.stderr.write(`peers: ${name} cannot be installed: \`${line}\` ended with ${status}\n`)
    return false
  }
  writeFileSync(mark, '')
  return true
}
