// Installs agents, and runs one as a process that cannot leave this machine.
import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TESTED_AGENTS, type TestedAgent } from './table.ts'

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

/** Folder of the installations, unless `--scratch` names another. */
export const SCRATCH = join(tmpdir(), 'waybill-agents')

export interface Installed {
  /** Program with its path. */
  readonly program: string
  readonly version: string
}

/** Installs an agent. Throws if this fails. */
export function installAgent({ name, from, program }: TestedAgent, scratch: string): Installed {
  const directory = join(scratch, name)
  const run = (file: string, ...args: string[]) =>
    execFileSync(file, args, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' })
  mkdirSync(directory, { recursive: true })
  if ('npm' in from) {
    const found = join(directory, 'node_modules', '.bin', program)
    if (!existsSync(found)) {
      writeFileSync(join(directory, 'package.json'), '{ "private": true }\n')
      run('npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', from.npm)
    }
    const { version } = JSON.parse(
      readFileSync(join(directory, 'node_modules', from.npm, 'package.json'), 'utf8'),
    )
    return { program: found, version }
  }
  const found = join(directory, 'bin', program)
  if (!existsSync(found)) {
    run('python3', '-m', 'venv', '.')
    run(join(directory, 'bin', 'pip'), 'install', '--quiet', from.pip)
  }
  const [, version = '?'] =
    /^Version: (.+)$/m.exec(run(join(directory, 'bin', 'pip'), 'show', from.pip)) ?? []
  return { program: found, version }
}

/** Installs the named agents, or all, one after the other. Prints which of them cannot be installed, and skips these. */
export function* installedAgents(
  names: readonly string[] | undefined,
  scratch: string,
): Generator<{ readonly agent: TestedAgent; readonly installed: Installed }> {
  for (const agent of TESTED_AGENTS.filter(({ name }) => names?.includes(name) ?? true)) {
    let installed: Installed
    try {
      installed = installAgent(agent, scratch)
    } catch (error) {
      console.log(`${agent.title}: cannot be installed: ${(error as Error).message.split('\n')[0]}`)
      continue
    }
    yield { agent, installed }
  }
}
