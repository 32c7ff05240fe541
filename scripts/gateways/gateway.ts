// Runs a gateway of another project. Its target file names its packages (`install`), or installs.ts has its installation,
// the path of its program, and the services that it needs.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { installCommands } from '../../conformance/target/install.ts'
import { ownTargets, readTarget } from '../../conformance/target/read.ts'
import type { Target } from '../../conformance/target/schema.ts'
import { INSTALLS, type OtherGateway } from './installs.ts'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

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

const targetOf = (name: string): Target => readTarget(join(ownTargets, `${name}.yaml`))
/** Names of the gateways that can be installed. */
export const peerNames: readonly string[] = [
  ...new Set([
    ...Object.keys(INSTALLS),
    ...readdirSync(ownTargets)
      .map((file) => file.replace(/\.yaml$/, ''))
      .filter((name) => targetOf(name).install !== undefined),
  ]),
].sort()

/** Returns how a gateway is installed and run, in the version of its target file if no other is given. */
export async function readPeer(name: string, version?: string): Promise<OtherGateway> {
  const own = version === undefined ? INSTALLS[name] : undefined
  if (own) return own
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
