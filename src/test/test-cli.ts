// Starts the command line from its sources as a separate process. Its environment contains only PATH, the
// variables that the test names, and the location of the compile cache, which halves the start time.
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const CLI = fileURLToPath(new URL('../cli.ts', import.meta.url))

const { PATH, NODE_COMPILE_CACHE } = process.env

export const ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: PATH!,
  NO_COLOR: '1',
  // Absolute, because the process may run in another directory.
  ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: resolve(NODE_COMPILE_CACHE) }),
}

interface Ended {
  /** Exit code; null if a signal ended the process. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  /** Returns the output so far. */
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

/** Runs a command to its end, with an empty stdin. */
export function runCli(args: readonly string[], options?: Options): Promise<Ended> {
  const { child, ended } = startCli(args, options)
  child.stdin.end()
  return ended
}

/** Starts a command that serves, and waits for its address. The command ends with the test. */
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

/** Returns a port that is free now, for a program that does not report its own. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
