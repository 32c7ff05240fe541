// Runs both variants of the status line as a client would: a process with its stdin, its two outputs and its
// exit code. For the tests in this folder.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { build } from 'tsup'
import { cells } from '../terminal/width.ts'
import { ask, type TestGateway, temporaryDirectory } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

export const VARIANTS = ['program', 'sh'] as const
export type Variant = (typeof VARIANTS)[number]

export interface Run {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
  /** Milliseconds. */
  readonly took: number
}

/** Writes to the child's stdin, which stays open unless it is ended here. */
export type Feed = (stdin: NonNullable<ChildProcess['stdin']>) => void

export const SCRIPT = join(import.meta.dirname, 'statusline.sh')

/** Builds the bundle as `npm run build` does and returns its path. */
export async function bundle(t: TestContext): Promise<string> {
  const outDir = temporaryDirectory(t)
  const { statusline } = (await import('../../tsup.config.ts')) as { statusline: object }
  await build({ ...statusline, config: false, outDir, silent: true })
  return join(outDir, 'statusline.cjs')
}

/** Runs a program to its end. The program's environment is `env` and PATH. */
export async function run(
  command: readonly [string, ...string[]],
  env: Record<string, string>,
  feed: Feed | string,
): Promise<Run> {
  const began = performance.now()
  const [file, ...args] = command
  const child = spawn(file, args, { env: { PATH: process.env.PATH!, ...env } })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (part) => (stdout += part))
  child.stderr.setEncoding('utf8').on('data', (part) => (stderr += part))
  child.stdin.on('error', () => {}) // the program may stop reading at any time
  if (typeof feed === 'string') child.stdin.end(feed)
  else feed(child.stdin)
  const [code] = await once(child, 'close')
  child.stdin.destroy()
  return { stdout, stderr, code, took: performance.now() - began }
}

const PATIENCE_MS = 30_000

/**
 * Repeats the run until the line is as expected, because on a busy machine even a healthy gateway may miss
 * the deadline, several times in a row. Returns the last run if the line is never as expected.
 */
export async function patiently<Ran>(once: () => Promise<Ran>, well: (ran: Ran) => boolean): Promise<Ran> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const ran = await once()
    if (well(ran) || performance.now() > end) return ran
  }
}

/** Handling of a connection after its first data; null to refuse it. */
export type Treatment = ((socket: Socket) => void) | null

/**
 * A server in front of a gateway. The server forwards everything until the test selects another handling of
 * connections.
 */
export async function front(
  t: TestContext,
  gateway: string,
): Promise<{ url: string; become(how: Treatment): void }> {
  const open = new Set<Socket>()
  let treatment: Treatment | undefined
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    if (treatment) return void socket.once('data', () => treatment!(socket))
    const onward = connect(Number(new URL(gateway).port), '127.0.0.1')
    onward.on('error', () => socket.destroy())
    socket.pipe(onward).pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    for (const socket of open) socket.destroy()
    server.close()
  }
  t.after(stop)
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    become(how) {
      if (how === null) stop()
      treatment = how
    },
  }
}

export const answering = (status: number, type: string, body: string) => (socket: Socket) =>
  socket.end(
    `HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )

/** The client's object. */
export const session = (
  session_id: unknown,
  model: unknown = { id: 'auto', display_name: 'Auto' },
  more = {},
) => ({
  session_id,
  model,
  cwd: '/tmp',
  ...more,
})

/** The line of a session with a single successful route, without colours. */
export const WENT = /^auto → alpha\/model-a · priority · .+ m?s$/

/** Makes a call and waits until its record is closed. */
export async function recorded(
  gateway: TestGateway,
  model: string,
  headers: Record<string, string>,
  more: object = { tools: [{ type: 'function', function: { name: 'read' } }] },
): Promise<void> {
  const { headers: answered } = await gateway.chat(ask(model, more), headers)
  await gateway.record(answered.get('x-gateway-request-id'))
}

/** Commands of the two variants. */
export async function commands(t: TestContext): Promise<Record<Variant, [string, ...string[]]>> {
  return { program: [process.execPath, await bundle(t)], sh: ['/bin/sh', SCRIPT] }
}

export const surroundings = (t: TestContext, env: Record<string, string>): Record<string, string> => ({
  HOME: temporaryDirectory(t),
  XDG_CACHE_HOME: temporaryDirectory(t),
  ...env,
})

const ESCAPE = String.fromCharCode(0x1b)
const COLOUR = new RegExp(`${ESCAPE}\\[[\\d;]*m`, 'g')

/** Returns the text without the escape sequences that the line itself uses. */
export const bare = (text: string): string => text.replaceAll(COLOUR, '')

/**
 * Checks every row: exit code 0, one line that is not blank, and no control characters except the line's own
 * colours.
 */
export function assertSound({ code, stdout }: Run, env: Record<string, string> = {}): void {
  assert.equal(code, 0)
  assert.match(stdout, /^[^\n]*\S[^\n]*\n$/)
  assert.doesNotMatch(bare(stdout).slice(0, -1), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  if (env.NO_COLOR || env.TERM === 'dumb') assert.ok(!stdout.includes('\u001b'), stdout)
  const columns = Number(env.COLUMNS) - (env.CLAUDECODE ? 4 : 0)
  if (columns > 0) assert.ok(cells(bare(stdout).trimEnd()) <= columns, stdout)
}

/** The script caches its last line after it has exited. */
export async function kept(env: Record<string, string>): Promise<void> {
  const directory = join(env.XDG_CACHE_HOME!, 'waybill', 'statusline')
  const names = () => (existsSync(directory) ? readdirSync(directory) : [])
  await until('a line is kept', () => names().some((name) => !name.endsWith('.part')))
}
