// A target that is a command: run in its directory, in a process group of its own, with a clean environment.
import { spawn } from 'node:child_process'
import { atExit } from '../at-exit.ts'
import { StartError } from '../running.ts'
import type { Process } from '../start.ts'

export interface CommandOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** How long a target may take to end after SIGTERM, ms. */
const GRACE = 10_000

/** Starts the command. Rejects with StartError when there is no such program. */
export async function runCommand(
  [file, ...args]: readonly string[],
  { cwd, env }: CommandOptions,
): Promise<Process> {
  const { PATH, HOME, LANG } = process.env
  const child = spawn(file!, args, {
    cwd,
    env: { PATH, HOME, LANG, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // so that what it starts ends with it
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      output = (output + piece.toString('utf8')).slice(-1_000_000)
    })
  // When the suite itself ends in the middle, what it started ends with it.
  const forget = atExit(() => signal('SIGKILL'))
  const gone = new Promise<void>((done) => child.once('exit', () => done()))
  gone.then(forget)
  await new Promise<void>((done, fail) => {
    child.once('spawn', done)
    child.once('error', (cause) => fail(new StartError(`cannot run ${file}: ${cause.message}`)))
  })
  const alive = () => child.exitCode === null && child.signalCode === null
  function signal(name: NodeJS.Signals): void {
    try {
      process.kill(-child.pid!, name)
    } catch {
      // it has ended meanwhile
    }
  }
  return {
    alive,
    output: () => output,
    async stop(how) {
      if (!alive()) return
      signal(how === 'killed' ? 'SIGKILL' : 'SIGTERM')
      const late = setTimeout(() => signal('SIGKILL'), GRACE)
      await gone
      clearTimeout(late)
    },
  }
}
