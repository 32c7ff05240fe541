// `npm run bench -- reads`: measures the cost of reads from a long request log. Fills databases through SQL,
// then calls a gateway over HTTP: every read endpoint alone, and chat completions alone, with three open
// pages, and with constant reads.
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Pool } from 'undici'
import { fillRecord } from './fill.ts'
import { type BenchTarget, startBenchWaybill, startUpstream } from './targets.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', multiple: true, default: ['100000', '1000000'] },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    asks: { type: 'string', default: '40' },
  },
})
const [ROUNDS, SECONDS, ASKS] = [values.rounds, values.seconds, values.asks].map(Number) as [
  number,
  number,
  number,
]
const CONNECTIONS = 8
const PAGES = 3
const LIMITS = 'retention: { rows: 100000000, days: 3650, bytes: 1024GiB }'

/** Read endpoints. The last endpoints in the list have performance targets. */
const PATHS = (session: string, call: string, middle: string): readonly string[] => [
  '/v1/models',
  '/api/cloud/model/resolve?model=auto',
  `/api/statusline?session_id=${session}&model=auto&columns=80`,
  '/api/usage/request-logs',
  '/api/usage/request-logs?limit=200',
  `/api/usage/request-logs?cursor=${middle}`,
  '/api/usage/request-logs?status=error',
  '/api/usage/request-logs?state=streaming',
  '/api/usage/request-logs?model=rare%2Fmodel',
  '/api/usage/request-logs?provider=nobody',
  '/api/usage/request-logs?agent_id=nobody',
  `/api/usage/request-logs?session_id=${session}`,
  `/api/usage/request-logs/${call}`,
  '/api/usage/logs',
  '/api/sessions',
  `/api/sessions?cursor=${middle}`,
  `/api/sessions/${session}`,
  '/api/usage/history?window=24h',
  '/api/usage/history?window=24h&bucket=1m',
  '/api/usage/history?window=30d',
  '/api/usage/history?window=30d&by=model',
  '/api/usage/history?window=30d&bucket=1d&by=key',
  '/api/analytics/auto-routing?window=24h',
  '/api/analytics/auto-routing?window=30d',
]

const BODY = JSON.stringify({
  model: 'auto',
  messages: [{ role: 'user', content: 'Where to? '.repeat(100) }],
})

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!
const ascending = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b)
const median = (list: readonly number[]): number => quantile(ascending(list), 0.5)
const ms = (value: number): string => value.toFixed(2).padStart(8)

const upstream = await startUpstream()
try {
  for (const rows of values.rows) await bench(Number(rows))
} finally {
  await upstream.stop()
}

async function bench(rows: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-bench-reads-'))
  let waybill: BenchTarget | null = null
  try {
    const begun = performance.now()
    fillRecord(directory, rows)
    const filled = performance.now()
    waybill = await startBenchWaybill(upstream, directory, { more: LIMITS })
    const started = performance.now()
    const bytes = ['waybill.db', 'waybill.db-wal']
      .map((name) => join(directory, name))
      .reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0)
    console.log(
      `\n${rows} calls over 30 days: ${Math.round(bytes / rows)} bytes a call; filled in ${seconds(filled - begun)}, opened for the first time in ${seconds(started - filled)}; ${waybill.about}`,
    )
    const { origin, pathname } = new URL(waybill.url)
    const reader = new Pool(origin, { connections: 1 })
    const get = async (path: string) => {
      const { statusCode, body } = await reader.request({ path, method: 'GET' })
      const text = await body.text()
      if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${text}`)
      return text
    }
    const middle = JSON.parse(await get(`/api/usage/request-logs?limit=1&until=${daysAgo(15)}`)).data[0].id
    const newest = JSON.parse(await get('/api/sessions?limit=1')).data[0].session_id
    const paths = PATHS(newest, middle, middle)

    await readAlone(paths, get)

    const chat = new Pool(origin, { connections: CONNECTIONS })
    const load = () => chatLoad(chat, pathname, SECONDS)
    await load()
    const arms: readonly Arm[] = [
      { name: 'alone', loads: [], begin: async () => async () => undefined },
      { name: `with ${PAGES} pages open`, loads: [], begin: () => openPages(origin) },
      {
        name: 'with all reads in a loop',
        loads: [],
        begin: async () => {
          let stop = false
          const loop = (async () => {
            while (!stop) for (const path of paths) if (!stop) await get(path)
          })()
          return async () => {
            stop = true
            await loop
          }
        },
      },
    ]
    for (let round = 0; round < ROUNDS; round++)
      for (let turn = 0; turn < arms.length; turn++) {
        const arm = arms[(round + turn) % arms.length]!
        const finish = await arm.begin()
        arm.loads.push(await load())
        await finish()
      }
    console.log(
      `\nChat completions, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s each in turns`,
    )
    for (const { name, loads } of arms)
      console.log(
        `  ${name}: p50 ${median(loads.map(({ p50 }) => p50)).toFixed(2)} ms, p99 ${median(loads.map(({ p99 }) => p99)).toFixed(2)} ms, ${Math.round(median(loads.map(({ perSecond }) => perSecond)))}/s`,
      )
    const [alone, ...others] = arms
    for (const { name, loads } of others) {
      const ratios = ascending(loads.map(({ p99 }, round) => p99 / alone!.loads[round]!.p99))
      console.log(
        `  p99 ${name} as a multiple of p99 alone: ${median(ratios).toFixed(2)} (by round: ${ratios.map((value) => value.toFixed(2)).join(' ')})`,
      )
    }
    await Promise.all([reader.close(), chat.close()])
  } finally {
    await waybill?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Prints the time of each path without other requests. */
async function readAlone(paths: readonly string[], get: (path: string) => Promise<string>): Promise<void> {
  console.log(`\n${'p50 ms'.padStart(8)} ${'p99 ms'.padStart(8)}   read alone, ${ASKS} times`)
  for (const path of paths) {
    await get(path)
    const times: number[] = []
    for (let ask = 0; ask < ASKS; ask++) {
      const start = performance.now()
      await get(path)
      times.push(performance.now() - start)
    }
    const sorted = ascending(times)
    console.log(
      `${ms(quantile(sorted, 0.5))} ${ms(quantile(sorted, 0.99))}   ${path.replaceAll(/[0-9a-f-]{36}/g, 'ID')}`,
    )
  }
}

/**
 * Condition under which calls are measured: `begin` starts the parallel load, and returns the function that
 * ends it.
 */
interface Arm {
  readonly name: string
  readonly loads: Load[]
  begin(): Promise<() => Promise<unknown>>
}

/** Opens pages in a thread, so that their reads take no time from the thread that makes the calls. */
async function openPages(origin: string): Promise<() => Promise<unknown>> {
  const worker = new Worker(new URL('./open-pages.ts', import.meta.url), {
    workerData: { origin, pages: PAGES },
    execArgv: ['--import', 'tsx'],
  })
  await once(worker, 'message')
  return () => worker.terminate()
}

interface Load {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

/** Makes calls at a steady pace: each connection begins a call every 10 ms, even after a slow moment. */
async function chatLoad(pool: Pool, path: string, lasting: number): Promise<Load> {
  const times: number[] = []
  const end = performance.now() + lasting * 1_000
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let due = performance.now(); due < end; due += 10) {
        const wait = due - performance.now()
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
        const start = performance.now()
        const { statusCode, body } = await pool.request({
          path,
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: BODY,
        })
        await body.dump()
        if (statusCode !== 200) throw new Error(`chat answered ${statusCode}`)
        times.push(performance.now() - start)
      }
    }),
  )
  const sorted = ascending(times)
  return { perSecond: times.length / lasting, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString()
}
