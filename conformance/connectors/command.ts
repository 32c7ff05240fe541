// A target that is a command: run in its directory, in its own process group, with a clean environment.
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { atExit } from '../at-exit.ts'
import { StartError } from '../running.ts'
import type { Process } from '../start.ts'

export interface CommandOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** How long a target may take to end after SIGTERM, ms. */
const GRACE = 10_000

/** How long after the end of all that was started its last output may take to be read, ms. */
const LAST_WORDS = 250

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
  const closed = new Promise<void>((done) => child.once('close', () => done()))
  const closedWithin = (ms: number) => Promise.race([closed, sleep(ms, undefined, { ref: false })])
  /** How long what the first process leaves behind may run on, ms. */
  let grace = 0
  /** The group is gone: its number may be that of another one by now. */
  let over = false
  const gone = new Promise<void>((done) => child.once('exit', () => done())).then(async () => {
    // A wrapper may end before the gateway that it started, which then has the port still, and these pipes.
    await closedWithin(grace)
    signal('SIGKILL')
    over = true
    forget()
    await closedWithin(LAST_WORDS)
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
      process.kill(-child.pid!, name)
    } catch {
      // it has ended meanwhile
    }
  }
  return {
    alive,
    output: () => output,
    async stop(how) {
      const asked = how === 'politely' && alive()
      if (asked) grace = GRACE
      signal(asked ? 'SIGTERM' : 'SIGKILL')
      const late = setTimeout(() => signal('SIGKILL'), GRACE)
      await gone
      clearTimeout(late)
    },
  }
}
