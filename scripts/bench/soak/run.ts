// `npm run bench -- soak`: runs half of the maximum load for half an hour (`--minutes N`), with faults,
// clients that leave, and reads. At the end, memory must be flat, the files below their limit, ledger and log
// equal, and no error uncaught. Exit code 0 or 1. Memory is judged after a quarter of the time; in a run of a
// few minutes it may not have stabilised. Needs a build.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { createClients, startProviders } from './load.ts'
import type { ProbeSample } from './probe.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const MS = Number(values.minutes) * 60_000
/** Time of full load that determines the maximum, ms. */
const MEASURE_MS = 10_000
/** Concurrent callers while the maximum is measured. */
const CALLERS = 32
const TICK_MS = 10
/** Time that is not judged, a quarter of the run but at least 30 s, because caches fill and the heap grows. */
const WARM_UP_MS = Math.max(30_000, MS / 4)
/** Growth over the judged time that counts as flat, because the amount of garbage varies. */
const FLAT = { share: 0.15, bytes: 24 * 2 ** 20 }
const MIB = 2 ** 20

interface Point extends ProbeSample {
  /** Time since the start, ms. */
  readonly at: number
  /** Size of database and write-ahead log, bytes. */
  readonly disk: number
}

const ROOT = join(import.meta.dirname, '../../..')
const directory = mkdtempSync(join(tmpdir(), 'waybill-soak-'))
const data = join(directory, 'data')
const problems: string[] = []
let gateway: ChildProcess | undefined
try {
  await soak()
} finally {
  gateway?.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
}
for (const problem of problems) console.error(`soak: ${problem}`)
console.log(problems.length === 0 ? 'soak: all is well' : `soak: ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1

async function soak(): Promise<void> {
  const providers = await startProviders()
  const { child, url } = await startGateway(providers.origin)
  gateway = child
  const points: Point[] = []
  const start = performance.now()
  child.on('message', (message: ProbeSample | { unhandled: string }) => {
    if ('unhandled' in message) problems.push(`unhandled rejection: ${message.unhandled}`)
    else points.push({ ...message, at: performance.now() - start, disk: bytesIn(data) })
  })
  const clients = createClients(url)

  const until = performance.now() + MEASURE_MS
  let steps = 0
  const caller = async () => {
    for (; performance.now() < until; steps++) await clients.step()
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  const rate = steps / (MEASURE_MS / 1000) / 2
  console.log(
    `maximum ${Math.round(rate * 2)} requests/s with ${CALLERS} callers; soaking at ${Math.round(rate)}/s for ${values.minutes} min`,
  )

  const began = performance.now()
  const open = new Set<Promise<void>>()
  let due = 0
  while (performance.now() - began < MS) {
    await sleep(TICK_MS)
    for (; due < (rate * (performance.now() - began)) / 1000; due++) {
      if (open.size > 1_000) continue // the machine is too slow; unsent calls are not sent later
      const step = clients.step().finally(() => open.delete(step))
      open.add(step)
    }
  }
  await Promise.all(open)
  await sleep(1_000) // a record is final within a second (LOG-04)
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  await clients.close()
  providers.close()

  const { calls, reads, left } = clients.counts
  const bad = [...clients.bad].map(([what, times]) => `${times} × ${what}`).join(', ')
  console.log(
    `${calls} calls, ${left} of them left half-way, ${reads} reads; in place of the answer that was due: ${bad || 'nothing'}`,
  )
  if (code !== 0) problems.push(`the gateway ended with exit code ${code}`)
  if (bad) problems.push(`requests did not get the answer that was due: ${bad}`)
  judge(points.filter(({ at }) => at > WARM_UP_MS))
  compare(providers.ledger)
}

async function startGateway(origin: string): Promise<{ child: ChildProcess; url: string }> {
  const config = join(directory, 'waybill.yaml')
  writeFileSync(
    config,
    `server: { port: 0 }
data: ./data
providers:
  alpha: { dialect: openai, base_url: ${origin}/alpha/v1 }
  beta: { dialect: openai, base_url: ${origin}/beta/v1 }
models: { alpha/model: { price: { input: 1, output: 2 } }, beta/model: { price: { input: 1, output: 2 } } }
routes: { auto: { targets: [ { model: alpha/model }, { model: beta/model } ] } }
resilience: { cooldown: 5ms, idle: 10s, answer: 10s }
`,
  )
  const program = ['--import', join(import.meta.dirname, 'probe.ts'), join(ROOT, 'dist/cli.js')]
  const child = spawn(process.execPath, [...program, 'serve', '--config', config], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.once('exit', (code) => reject(new Error(`the gateway ended with exit code ${code}`)))
    const read = (part: Buffer) => {
      text += part
      const match = /listens on (http[^\s"]+)/.exec(text)
      if (!match) return
      child.stdout!.off('data', read).resume() // the process log is written and read, but discarded
      resolve(match[1]!)
    }
    child.stdout!.on('data', read)
  })
  return { child, url }
}

/** Checks that memory is flat, and prints the other figures. */
function judge(points: readonly Point[]): void {
  if (points.length < 30) {
    problems.push('too short to say anything about memory')
    return
  }
  for (const name of ['rss', 'heap', 'threads'] as const) {
    // Memory after garbage collection: the minimum in each ten seconds. Memory above this minimum is not a
    // leak.
    const valleys = points.flatMap((_, index) =>
      index % 10 === 9 ? [Math.min(...points.slice(index - 9, index + 1).map((point) => point[name]))] : [],
    )
    const mean = valleys.reduce((sum, value) => sum + value, 0) / valleys.length
    const perPoint = slope([...valleys.keys()], valleys)
    const growth = perPoint * (valleys.length - 1)
    console.log(
      `${name}: mean ${mib(mean)}, highest ${mib(Math.max(...points.map((point) => point[name])))}, slope ${mib(perPoint * 360)} per hour`,
    )
    if (growth > Math.max(FLAT.bytes, mean * FLAT.share))
      problems.push(`${name} grew by ${mib(growth)} while it should have been flat`)
  }
  const delays = points.map(({ delay }) => delay).sort((a, b) => a - b)
  console.log(
    `event loop delay, p99 of each second: median ${delays[delays.length >> 1]!.toFixed(1)} ms, worst ${delays.at(-1)!.toFixed(1)} ms`,
  )
  console.log(`disk: ${mib(points[0]!.disk)} after the warm-up, ${mib(points.at(-1)!.disk)} at the end`)
}

/** Fits a line by least squares; returns units of y per unit of x. */
function slope(xs: readonly number[], ys: readonly number[]): number {
  const [x0, y0] = [xs, ys].map((all) => all.reduce((sum, each) => sum + each, 0) / all.length) as [
    number,
    number,
  ]
  const above = xs.reduce((sum, x, index) => sum + (x - x0) * (ys[index]! - y0), 0)
  return above / xs.reduce((sum, x) => sum + (x - x0) ** 2, 0)
}

/** Checks promise 2 within retention: call by call, the record equals what the providers received. */
function compare(ledger: ReadonlyMap<string, readonly string[]>): void {
  const db = new Database(join(data, 'waybill.db'), { readonly: true })
  const calls = db.prepare('SELECT id, session_id, completed_at FROM call_logs ORDER BY id').all() as {
    id: string
    session_id: string
    completed_at: number | null
  }[]
  const attemptsOf = db.prepare(
    'SELECT provider, model, outcome, status FROM call_attempts WHERE call_id = ? ORDER BY n',
  )
  const recorded = new Set(calls.map(({ session_id }) => session_id))
  let wrong = 0
  for (const { id, session_id, completed_at } of calls) {
    const attempts = attemptsOf.all(id) as {
      provider: string
      model: string
      outcome: string
      status: number | null
    }[]
    const received = [...(ledger.get(session_id) ?? [])]
    let missing = 0
    for (const { provider, model, outcome, status } of attempts) {
      const at = received.indexOf(`${provider}/${model}`)
      const mayBeMissing =
        ['not_sent', 'unknown'].includes(outcome) ||
        (status === null && ['aborted', 'timed_out'].includes(outcome))
      if (at >= 0 && outcome !== 'not_sent') received.splice(at, 1)
      else if (!mayBeMissing) missing++
    }
    if (missing > 0 || received.length > 0 || completed_at === null) wrong++
  }
  // Retention may have dropped calls before the oldest on record; later calls must be on record.
  const number = (nonce: string) => Number(nonce.slice('soak-'.length))
  const oldest = Math.min(...calls.slice(0, CALLERS * 40).map(({ session_id }) => number(session_id)))
  const lost = [...ledger.keys()].filter(
    (nonce) => number(nonce) > oldest + CALLERS * 40 && !recorded.has(nonce),
  ).length
  db.close()
  console.log(
    `${ledger.size} calls in the ledger, ${calls.length} on record, ${wrong} that differ, ${lost} lost`,
  )
  if (wrong > 0) problems.push(`${wrong} records do not equal the ledger`)
  if (lost > 0) problems.push(`${lost} calls of the ledger are not on record`)
}

function bytesIn(folder: string): number {
  const sizes = readdirSync(folder).map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`
}
