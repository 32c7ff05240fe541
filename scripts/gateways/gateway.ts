// Runs a gateway of another project. Its target file names its packages (`install`), or a file in installs/ has
// its installation, the path of its program, and the services that it needs.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { installCommands } from '../../conformance/launch/install.ts'
import { ownTargets, readTarget } from '../../conformance/target/read.ts'
import type { Target } from '../../conformance/target/schema.ts'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

export interface OtherGateway {
  /**
   * Shell lines, run in the gateway's own directory; $NODE is this Node, $PROJECT the path of this project.
   */
  readonly install: readonly string[]
  /** Path of the gateway's program below its directory. */
  readonly bin: string
  /** Returns additions to the suite's environment, used in the target file as `{{env.NAME}}`. */
  readonly env?: (directory: string) => Record<string, string>
  /** Servers that run as long as the gateway; SERVICES defines their additions to the environment. */
  readonly services?: readonly ServiceName[]
}

/** Started server: its additions to the environment, and how to end it. */
interface Service {
  readonly env: Readonly<Record<string, string>>
  end(): Promise<void>
}

const SERVICES = {
  /**
   * Starts a PostgreSQL from Debian's packages, on a socket in a scratch directory, with an empty database.
   */
  async postgres(): Promise<Service> {
    const { NO_POSTGRES, startPostgres } = await import('../../src/test/test-postgres.ts')
    if (NO_POSTGRES !== false) throw new Error(NO_POSTGRES)
    const server = await startPostgres()
    // Parts of the address, for programs that cannot read a socket from an address as libpq can.
    const parts = { PGHOST: server.directory, PGUSER: 'waybill', PGDATABASE: 'peer' }
    return {
      env: { DATABASE_URL: await server.database('peer'), ...parts },
      end: () => server.end(),
    }
  },
}
type ServiceName = keyof typeof SERVICES

/** Installs npm packages in the current directory. */
export const NPM = 'npm install --no-save --no-audit --no-fund --ignore-scripts --prefix .'

/**
 * Tables for counting tokens that some gateways download at start-up. LiteLLM's package contains the two
 * tables that are needed.
 */
export const TOKEN_TABLES = [
  'pip download --quiet --no-deps --only-binary :all: -d . litellm==1.106.2',
  'mkdir tokens && python3 -m zipfile -e litellm-*.whl wheel && cp wheel/litellm/litellm_core_utils/tokenizers/[0-9a-f]* tokens/',
  'rm -r wheel litellm-*.whl',
]
/** Returns the variable with which OpenAI's tokenizer finds the tables. */
export const tokenTables = (directory: string) => ({ TIKTOKEN_CACHE_DIR: join(directory, 'tokens') })

const here = fileURLToPath(new URL('installs/', import.meta.url))
const withFile = readdirSync(here).map((file) => file.replace(/\.ts$/, ''))
const targetOf = (name: string): Target => readTarget(join(ownTargets, `${name}.yaml`))
/** Names of the gateways that can be installed. */
export const peerNames: readonly string[] = [
  ...new Set([
    ...withFile,
    ...readdirSync(ownTargets)
      .map((file) => file.replace(/\.yaml$/, ''))
      .filter((name) => targetOf(name).install !== undefined),
  ]),
].sort()

/** Returns how a gateway is installed and run, in the version of its target file if no other is given. */
export async function readPeer(name: string, version?: string): Promise<OtherGateway> {
  if (withFile.includes(name) && version === undefined)
    return ((await import(`./installs/${name}.ts`)) as { peer: OtherGateway }).peer
  const target = targetOf(name)
  const { commands, bin } = installCommands(target.install!, version ?? target.version!)
  return {
    install: commands.map((command) => command.map((word) => `'${word}'`).join(' ')),
    bin,
    ...(/\{\{env\.(PGHOST|DATABASE_URL)\}\}/.test(JSON.stringify(target)) && { services: ['postgres'] }),
  }
}

/**
 * Runs the install lines unless they were run before with this Node and project. Returns false if a line
 * fails.
 */
export function installGateway(name: string, { install: lines }: OtherGateway, directory: string): boolean {
  const mark = join(directory, '.installed')
  const own = { NODE: process.execPath, PROJECT }
  // Install lines write both paths into programs, so a program that another checkout installed would look for
  // files in that checkout.
  const installed = JSON.stringify({ ...own, lines })
  if (existsSync(mark) && readFileSync(mark, 'utf8') === installed) return true
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  for (const line of lines) {
    const env = { ...process.env, ...own }
    const { status } = spawnSync('sh', ['-c', line], { cwd: directory, env, stdio: 'inherit' })
    if (status === 0) continue
    process.stderr.write(`gateways: ${name} cannot be installed: \`${line}\` ended with ${status}\n`)
    return false
  }
  writeFileSync(mark, installed)
  return true
}

/**
 * Runs `waybill conform` with the programs, the environment and the services of an installed gateway. Returns
 * the error output.
 */
export async function conformPeer(
  args: readonly string[],
  { bin, env, services = [] }: OtherGateway,
  directory: string,
): Promise<string> {
  const servers: Service[] = []
  try {
    for (const each of services) servers.push(await SERVICES[each]())
    const suite = spawn(process.execPath, ['--import', 'tsx', 'src/cli.ts', 'conform', ...args], {
      cwd: PROJECT,
      env: {
        ...process.env,
        ...Object.assign({}, ...servers.map((server) => server.env)),
        ...env?.(directory),
        PATH: [join(directory, bin), process.env.PATH].join(delimiter),
      },
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    const [said] = await Promise.all([text(suite.stderr), once(suite, 'close')])
    process.stderr.write(said)
    return said
  } finally {
    for (const server of servers) await server.end()
  }
}
