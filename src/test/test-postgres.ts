// A PostgreSQL for one test: started from the machine's packages on a socket in a scratch directory, without
// a container. Can be stopped, killed and frozen. If there is none on the machine, tests say so and are
// skipped.
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

/** With WAYBILL_POSTGRES=required nothing is skipped, and what is missing makes tests fail. */
export const IS_REQUIRED = process.env.WAYBILL_POSTGRES === 'required'

/** For a test's `skip`: false, or why it cannot run here. */
export const NO_POSTGRES: string | false = BIN === null && !IS_REQUIRED ? MISSING : false

export interface TestPostgres {
  /** The address of a fresh database; the server runs afterwards, whatever a test before did to it. */
  database(name: string, template?: string): Promise<string>
  readonly directory: string
  readonly pid: number
  start(): Promise<void>
  /** SIGINT: stopped at once, cleanly. SIGKILL: as by a power cut of the server. */
  stop(signal?: 'SIGINT' | 'SIGKILL'): Promise<void>
  freeze(): void
  thaw(): void
  end(): Promise<void>
}

/** It refuses to run as root. */
function userId(): number | undefined {
  if (process.getuid?.() !== 0) return undefined
  return Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }))
}

/** `settings` as they stand in postgresql.conf. */
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
      if (server.exitCode !== null || server.signalCode !== null) await postgres.start() // a test before this one failed
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
      if (signal === 'SIGKILL') await sleep(300) // what it started notices that it is gone
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    async end() {
      signalAll('SIGCONT')
      await postgres.stop('SIGINT')
      if (existsSync(directory)) rmSync(directory, { recursive: true, force: true })
    },
  }
  /** The server and the processes that it started. */
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
