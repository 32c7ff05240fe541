// Starts the command line from its sources, as a process of its own. From the environment it gets only PATH,
// the variables that the test names, and the place of the compile cache, which halves the time of a start.
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const CLI = fileURLToPath(new URL('../cli.ts', import.meta.url))

const { PATH, NODE_COMPILE_CACHE } = process.env

export const ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: PATH!,
  NO_COLOR: '1',
  // Its own directory may be another one.
  ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: resolve(NODE_COMPILE_CACHE) }),
}

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  /** What it has printed so far. */
  readonly said: { stdout: string; stderr: string }
  readonly ended: Promise<Ended>
}

interface Options {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
}

export function startCli(args: readonly string[], { env, cwd }: Options = {}): Started {
  const child = spawn(process.execPath, [CLI, ...args], { cwd, env: { ...ENVIRONMENT, ...env } })
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (part) => (said.stdout += part))
  child.stderr.setEncoding('utf8').on('data', (part) => (said.stderr += part))
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...said }))
  return { child, said, ended }
}

/** Runs it to its end; nothing can be read from its stdin. */
export function runCli(args: readonly string[], options?: Options): Promise<Ended> {
  const { child, ended } = startCli(args, options)
  child.stdin.end()
  return ended
}

/** Starts one that serves, ends it with the test, and waits for its address. */
export async function startServer(t: TestContext, args: readonly string[], options?: Options) {
  const started = startCli(args, options)
  const { child, said } = started
  t.after(() => child.kill('SIGKILL'))
  for (;;) {
    const found = /listens on (http:[^\s",]+)/.exec(said.stdout + said.stderr)
    if (found) return { ...started, url: found[1]! }
    assert.equal(child.exitCode, null, said.stdout + said.stderr)
    await sleep(10)
  }
}
