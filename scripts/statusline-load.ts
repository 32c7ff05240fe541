// `tsx scripts/statusline-load.ts [--runs 1000]`: draws the status line again and again while the gateway behind it
// is under chat load, and says how many lines were late, blank or paid for. Needs `npm run build`.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { answer, startStandIn } from '../mocks/stand-in.ts'

const ROOT = join(import.meta.dirname, '..')
const CHATS_AT_ONCE = 16
const LINES_AT_ONCE = 2
const GATEWAY_MS = 150

export interface LoadReport {
  readonly lines: number
  readonly chats: number
  /** Inferences that the provider saw; the chats and nothing else. */
  readonly inferences: number
  readonly blank: number
  readonly failed: number
  /** Lines that said where the session went, not only its label or a memory. */
  readonly routed: number
  /** Milliseconds, sorted: whole-process time of a line, and of an empty program beside it. */
  readonly line: readonly number[]
  readonly empty: readonly number[]
}

/** Draws `runs` lines with `command` and as many empty programs in turns, under load. */
export async function underLoad(command: readonly [string, ...string[]], runs: number): Promise<LoadReport> {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-line-'))
  const provider = await startStandIn(answer())
  const gateway = await startGateway(directory, provider.baseUrl)
  let loading = true
  let chats = 0
  const chat = async () => {
    const headers = { 'content-type': 'application/json', 'x-session-id': 'load' }
    const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'where to?' }] })
    while (loading) {
      const answered = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
      if (answered.status !== 200) throw new Error(`a chat was answered ${answered.status}`)
      await answered.arrayBuffer()
      chats++
    }
  }
  const env = { ...process.env, WAYBILL_URL: gateway.url, XDG_CACHE_HOME: directory, NO_COLOR: '1' }
  const empty: number[] = []
  const line: number[] = []
  let [blank, failed, routed, left] = [0, 0, 0, runs]
  const draw = async () => {
    while (left-- > 0) {
      empty.push((await timed([process.execPath, '-e', '0'], env)).ms)
      const { ms, stdout, code } = await timed(command, env)
      line.push(ms)
      if (code !== 0) failed++
      if (stdout.trim() === '') blank++
      if (/^auto → alpha\/model-a · priority(?!.* ago$)/.test(stdout)) routed++
    }
  }
  try {
    const load = Array.from({ length: CHATS_AT_ONCE }, chat)
    await Promise.all(Array.from({ length: LINES_AT_ONCE }, draw))
    loading = false
    await Promise.all(load)
  } finally {
    gateway.process.kill('SIGTERM')
    await once(gateway.process, 'close')
    await provider.close()
    rmSync(directory, { recursive: true, force: true })
  }
  const sorted = (times: number[]) => times.toSorted((a, b) => a - b)
  const inferences = provider.ledger.length
  return {
    lines: line.length,
    chats,
    inferences,
    blank,
    failed,
    routed,
    line: sorted(line),
    empty: sorted(empty),
  }
}

async function startGateway(
  directory: string,
  baseUrl: string,
): Promise<{ url: string; process: ChildProcess }> {
  const file = join(directory, 'waybill.yaml')
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${directory}
providers: { alpha: { api: openai, base_url: "${baseUrl}", key: $ALPHA_KEY } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
`,
  )
  const args = ['--import', 'tsx', join(ROOT, 'src/cli.ts'), 'serve', '--config', file]
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ALPHA_KEY: 'sk-alpha-secret' },
  })
  child.stderr.pipe(process.stderr)
  let said = ''
  for await (const part of child.stdout) {
    said += part
    const url = /listens on (http[^\s"]+)/.exec(said)?.[1]
    if (url) return { url, process: child }
  }
  throw new Error('the gateway did not start')
}

async function timed([file, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv) {
  const began = performance.now()
  const child = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'ignore'] })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (part) => (stdout += part))
  child.stdin.on('error', () => {}).end('{"session_id":"load","model":{"id":"auto"}}')
  const [code] = (await once(child, 'close')) as [number | null]
  return { ms: performance.now() - began, stdout, code }
}

const at = (times: readonly number[], share: number): number => times[Math.floor(share * (times.length - 1))]!

async function main(): Promise<void> {
  const { runs, sh } = parseArgs({
    options: { runs: { type: 'string', default: '1000' }, sh: { type: 'boolean', default: false } },
  }).values
  const command: [string, string] = sh
    ? ['/bin/sh', join(ROOT, 'src/statusline/statusline.sh')]
    : [process.execPath, join(ROOT, 'dist/statusline.cjs')]
  const report = await underLoad(command, Number(runs))
  const { lines, chats, inferences, blank, failed, routed, line, empty } = report
  const limit = GATEWAY_MS + at(empty, 1)
  const late = line.filter((ms) => ms > limit).length
  const spread = (times: readonly number[]) =>
    [0.5, 0.95, 0.99, 1].map((share) => at(times, share).toFixed(1)).join(' / ')
  console.log(`${lines} lines, of which ${routed} told the route; ${blank} blank, ${failed} failed`)
  console.log(`${chats} chats, ${inferences} inferences: ${inferences - chats} beyond the load's own`)
  console.log(`empty program p50 / p95 / p99 / max: ${spread(empty)} ms`)
  console.log(`line          p50 / p95 / p99 / max: ${spread(line)} ms`)
  console.log(`${late} lines over ${limit.toFixed(1)} ms (deadline + slowest start-up)`)
  process.exitCode = late + blank + failed + Math.abs(inferences - chats) === 0 ? 0 : 1
}

if (import.meta.main) await main()
