// Runs a foreign program with its own environment for a bounded time, and ends all processes that it started.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Ran {
  /** Exit code; null if the program was killed. */
  readonly code: number | null
  /** Both outputs, in order of arrival. */
  readonly output: string
  readonly ms: number
  readonly timedOut: boolean
  /** Number of processes that the program left behind and that were ended. */
  readonly left: number
}

/** Environment variable that marks all processes of a run, because children inherit it. */
const MARK = 'WAYBILL_AGENT_RUN'

export async function runBounded(
  program: string,
  args: readonly string[],
  {
    env,
    cwd,
    ms,
  }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string; readonly ms: number },
): Promise<Ran> {
  const mark = randomUUID()
  const began = performance.now()
  const child = spawn(program, args, {
    cwd,
    env: { ...env, [MARK]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a separate group, which can be ended as a whole
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part) => (output += part))
  const exited = once(child, 'exit') as Promise<[number | null]>
  const over = await Promise.race([exited.catch((error: Error) => error), sleep(ms, null, { ref: false })])
  if (over instanceof Error) throw over
  const left = await endAll(mark)
  if (over === null) await exited
  child.stdout.destroy()
  child.stderr.destroy()
  return { code: over?.[0] ?? null, output, ms: performance.now() - began, timedOut: over === null, left }
}

/** Ends every process with the mark, by its id; returns their number. */
async function endAll(mark: string): Promise<number> {
  const found = new Set<number>()
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const marked = processesWith(`${MARK}=${mark}`)
    for (const pid of marked) {
      found.add(pid)
      try {
        process.kill(pid, signal)
      } catch {} // it has ended meanwhile
    }
    for (let tries = 0; tries < 20 && processesWith(`${MARK}=${mark}`).length > 0; tries++) await sleep(100)
  }
  return found.size
}

function processesWith(entry: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(entry)
      } catch {
        return false // the process has ended or belongs to another user
      }
    })
    .map(Number)
}
