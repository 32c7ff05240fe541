// Targets on this machine: a command, which runs in its directory, in its own process group, with a clean environment; a
// module with an export `start`, which runs in this process; and the ports for both.
import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { after, stray } from '../../src/shared/boundary.ts'
import { sleep } from '../../src/shared/clock.ts'
import { type Process, StartError } from './instance.ts'

interface CommandOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Maximum time from SIGTERM to the end of a target, ms. */
const STOP_TIMEOUT_MS = 10_000

/** Maximum time to read the last output after the end of all processes, ms. */
const OUTPUT_TIMEOUT_MS = 250

/** Returns the variables that every program needs to start on Windows. */
const windowsVariables = () =>
  process.platform === 'win32'
    ? Object.fromEntries(['SystemRoot', 'TEMP', 'PATHEXT'].map((name) => [name, process.env[name]]))
    : {}

/** Starts the command. Rejects with StartError if there is no such program. */
export async function runCommand(
  [file, ...args]: readonly string[],
  { cwd, env }: CommandOptions,
): Promise<Process> {
  const { PATH, HOME, LANG } = process.env
  const child = spawn(file!, args, {
    cwd,
    env: { PATH, HOME, LANG, ...windowsVariables(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // so that its child processes end with it
  })
  let output = ''
  let received = 0
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      received += piece.length
      output = (output + piece.toString('utf8')).slice(-1_000_000)
    })
  // Ends all started processes if the suite itself is interrupted.
  const forget = atExit(() => signal('SIGKILL'))
  const closed = new Promise<void>((done) => child.once('close', () => done()))
  const closedWithin = (ms: number) => Promise.race([closed, sleep(ms, { ref: false })])
  /** Time for which processes may outlive the first one, ms. */
  let grace = 0
  /** True once the group has ended, because its number may then belong to another group. */
  let over = false
  const gone = new Promise<void>((done) => child.once('exit', () => done())).then(async () => {
    // A wrapper may end before the gateway that it started; the gateway then still holds the port and these
    // pipes.
    await closedWithin(grace)
    signal('SIGKILL')
    over = true
    forget()
    await closedWithin(OUTPUT_TIMEOUT_MS)
    // The pipes still contain the last output. Each turn of the event loop reads a part of it, even on a busy machine.
    for (let before = -1; before < received; ) {
      before = received
      await new Promise((resolve) => setImmediate(resolve))
    }
    child.stdout.destroy()
    child.stderr.destroy()
  })
  await new Promise<void>((done, fail) => {
    child.once('spawn', done)
    child.once('error', (cause) => fail(new StartError(`cannot run ${file}: ${cause.message}`)))
  })
  const alive = () => child.exitCode === null && child.signalCode === null
  function signal(name: NodeJS.Signals): void {
    if (over) return
    try {
      // Windows has no process groups and no signals, so the process and all its descendants are ended
      // immediately.
      if (process.platform === 'win32') spawnSync('taskkill', ['/pid', String(child.pid), '/t', '/f'])
      else process.kill(-child.pid!, name)
    } catch {
      // it has ended in the meantime
    }
  }
  return {
    alive,
    output: () => output,
    async stop(how) {
      const asked = how === 'politely' && alive()
      if (asked) grace = STOP_TIMEOUT_MS
      signal(asked ? 'SIGTERM' : 'SIGKILL')
      const late = after(STOP_TIMEOUT_MS, () => signal('SIGKILL'), stray)
      await gone
      late.close()
    },
  }
}

const works = new Set<() => void>()

/** Calls `work` when this process ends; `work` must be synchronous. Returns a function that cancels this. */
export function atExit(work: () => void): () => void {
  if (works.size === 0) process.once('exit', doAll)
  works.add(work)
  return () => {
    works.delete(work)
    if (works.size === 0) process.off('exit', doAll)
  }
}

function doAll(): void {
  for (const work of works) work()
}

/** Exports of a module that is a target. */
export interface InProcess {
  /**
   * Starts the gateway on the files in `directory`; `name` is the part after the `#`. Rejects if the gateway
   * cannot start.
   */
  start(
    directory: string,
    env: Readonly<Record<string, string>>,
    name?: string,
  ): Promise<{ close(): Promise<void>; output?(): string }>
}

/**
 * Loads `module`: an absolute path, or a path below conformance/, such as `selftest/reference`. The part
 * after a `#` is passed to its `start`.
 */
export async function runInProcess(
  module: string,
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<Process> {
  const [path, name] = module.split('#') as [string, string?]
  const url = isAbsolute(path) ? pathToFileURL(path) : new URL(`../${path}.ts`, import.meta.url)
  const { start }: InProcess = await import(url.href).catch((cause: Error) => {
    throw new StartError(`cannot load the target's module ${path}: ${cause.message}`, { cause })
  })
  const gateway = await start(directory, env, name).catch((cause: Error) => {
    throw new StartError(cause.message, { cause })
  })
  let up = true
  return {
    alive: () => up,
    output: () => gateway.output?.() ?? '',
    async stop() {
      up = false
      await gateway.close()
    },
  }
}

/**
 * Ports below the range that systems assign by themselves (from 32,768 on Linux, from 49,152 elsewhere), so
 * that no other program gets such a port by chance before the gateway listens.
 */
const PORTS = [20_000, 32_000] as const

/** Port for one instance during its lifetime. */
interface ReservedPort {
  readonly port: number
  release(): Promise<void>
}

/**
 * Reserves an even, free port of this machine. The odd port above it is held until the release. Other
 * instances, of this suite or another one, therefore cannot draw the same port while this instance is not
 * listening or restarts.
 */
export async function reservePort(): Promise<ReservedPort> {
  for (;;) {
    const port = 2 * randomInt(PORTS[0] / 2, PORTS[1] / 2)
    const guard = await listenOn(port + 1)
    if (!guard) continue
    const release = () => closed(guard)
    const first = await listenOn(port)
    if (!first) {
      await release()
      continue
    }
    await closed(first)
    guard.unref()
    return { port, release }
  }
}

/** Listens on a port; returns null if another program listens there. */
function listenOn(port: number): Promise<Server | null> {
  const server = createServer()
  return new Promise((done, fail) => {
    server.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? done(null) : fail(error),
    )
    server.listen(port, '127.0.0.1', () => done(server))
  })
}

const closed = (server: Server): Promise<void> => new Promise((done) => server.close(() => done()))
