// A PostgreSQL server for one test. The server is started without a container from the machine's packages, on
// a socket in a scratch directory. It can be stopped, killed and frozen. Without PostgreSQL on the machine,
// tests report that and are skipped.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Link, openLink } from '../store/postgres/link.ts'

const BIN =
  globSync('/usr/lib/postgresql/*/bin/postgres')
    .sort()
    .at(-1)
    ?.replace(/\/postgres$/, '') ?? null

const MISSING = 'there is no PostgreSQL on this machine: apt-get install postgresql'

/** With WAYBILL_POSTGRES=required, nothing is skipped, and missing parts make tests fail. */
export const IS_REQUIRED = process.env.WAYBILL_POSTGRES === 'required'

/** Value for a test's `skip`: false, or the reason why the test cannot run here. */
export const NO_POSTGRES: string | false = BIN === null && !IS_REQUIRED ? MISSING : false

export interface TestPostgres {
  /** Returns the address of a fresh database. Starts the server if an earlier test stopped it. */
  database(name: string, template?: string): Promise<string>
  readonly directory: string
  readonly pid: number
  start(): Promise<void>
  /** Ends the server. SIGINT stops it immediately and cleanly; SIGKILL acts like a power failure. */
  stop(signal?: 'SIGINT' | 'SIGKILL'): Promise<void>
  freeze(): void
  thaw(): void
  end(): Promise<void>
}

/** PostgreSQL refuses to run as root. */
function userId(): number | undefined {
  if (process.getuid?.() !== 0) return undefined
  return Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }))
}

/** Starts a server. `settings` are in the format of postgresql.conf. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<TestPostgres> {
  if (BIN === null) throw new Error(MISSING)
  const uid = userId()
  const directory = mkdtempSync(join(tmpdir(), 'waybill-pg-'))
  if (uid !== undefined) chownSync(directory, uid, uid)
  const data = join(directory, 'data')
  const as = uid === undefined ? {} : { uid }
  execFileSync(
    join(BIN, 'initdb'),
    ['-D', data, '-U', 'waybill', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { ...as, stdio: 'ignore', cwd: directory },
  )
  let server: ChildProcess
  let exited: Promise<unknown> = Promise.resolve()
  const urlOf = (name: string) =>
    `postgresql://waybill@/${name}?host=${encodeURIComponent(directory)}&port=${settings.port ?? 5432}`
  const admin = (): Link => openLink({ url: urlOf('postgres'), tls: 'verify' }, 'test')

  const postgres: TestPostgres = {
    directory,
    get pid() {
      return server.pid!
    },
    async database(name, template = 'template1') {
      if (server.exitCode !== null || server.signalCode !== null) await postgres.start() // an earlier test failed
      signalAll('SIGCONT')
      const link = admin()
      await link.query(`CREATE DATABASE "${name}" TEMPLATE "${template}"`)
      await link.close()
      return urlOf(name)
    },
    async start() {
      const all = {
        fsync: 'off',
        shared_buffers: '32MB',
        listen_addresses: '',
        max_connections: '40',
        ...settings,
      }
      const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      server = spawn(join(BIN, 'postgres'), ['-D', data, '-k', directory, ...options], {
        ...as,
        stdio: 'ignore',
        cwd: directory,
      })
      exited = new Promise((resolve) => server.once('exit', resolve))
      for (let tries = 0; ; tries++) {
        const link = admin()
        try {
          await link.query('SELECT 1')
          return
        } catch (error) {
          if (tries > 200) throw error
          await sleep(50)
        } finally {
          await link.close()
        }
      }
    },
    async stop(signal = 'SIGINT') {
      server.kill(signal)
      await exited
      if (signal === 'SIGKILL') await sleep(300) // its child processes notice that it is gone
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    async end() {
      signalAll('SIGCONT')
      await postgres.stop('SIGINT')
      if (existsSync(directory)) rmSync(directory, { recursive: true, force: true })
    },
  }
  /** The server and its child processes. */
  function signalAll(signal: NodeJS.Signals): void {
    const { pid } = server
    const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    for (const each of [pid!, ...stdout.split('\n').map(Number).filter(Boolean)])
      try {
        process.kill(each, signal)
      } catch {} // it has ended meanwhile
  }
  await postgres.start()
  return postgres
}
