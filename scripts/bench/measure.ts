// How a proxy is measured. Load with wrk, and the resources that a process used meanwhile, as Linux reports them. The
// comparison of two builds in pairs of neighbouring rounds, which cancels most of the variation of a busy machine. The
// overhead on a stream, into whose events the upstream writes the time of sending. One CPU profile for each thread,
// reduced to self times by function and by origin.
import { execFile, spawnSync } from 'node:child_process'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { BenchTarget } from './targets.ts'

/** Latencies in ms. */
export interface Round {
  readonly perSecond: number
  readonly requests: number
  readonly p50: number
  readonly p99: number
  /** Number of answers with an error status and of failed connections. The round is valid only if it is 0. */
  readonly badStatus: number
  readonly socketErrors: number
  /**
   * Processor time of the main thread and of the process for each call, µs, and the process's memory after
   * the round, MiB.
   */
  readonly main: number | null
  readonly all: number | null
  readonly resident: number | null
}

export const hasWrk = (): boolean => spawnSync('wrk', ['-v']).error === undefined

const PROMPT = 'Explain to a newcomer what a waybill is, and why a carrier keeps one for every load. '
/** Request of about 1.2 kB, like a short conversation. */
export const BODY = JSON.stringify({
  model: 'auto',
  messages: [
    { role: 'system', content: 'You answer briefly and to the point.' },
    { role: 'user', content: PROMPT.repeat(12) },
  ],
  temperature: 0.2,
  max_tokens: 200,
})

/** The same conversation as a request of the Messages dialect. */
export const MESSAGES_BODY = JSON.stringify({
  model: 'auto',
  system: 'You answer briefly and to the point.',
  messages: [{ role: 'user', content: PROMPT.repeat(12) }],
  temperature: 0.2,
  max_tokens: 200,
})

/** Runs wrk with one thread, which sends far more requests than any target can answer. */
export async function wrk(
  target: BenchTarget,
  connections: number,
  seconds: number,
  body = BODY,
): Promise<Round> {
  const script = join(import.meta.dirname, 'load.lua')
  const headers = Object.entries(target.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '5s', '--latency', '-s', script]
  const before = useOf(target.pid)
  const { stdout } = await promisify(execFile)('wrk', [...args, ...headers, target.url, '--', body])
  const line = stdout.split('\n').findLast((each) => each.startsWith('{'))
  if (!line) throw new Error(`wrk reported nothing for ${target.name}:\n${stdout}`)
  const said = JSON.parse(line) as Omit<Round, 'perSecond' | 'main' | 'all' | 'resident'> & {
    seconds: number
  }
  const after = useOf(target.pid)
  const perCall = (ms: (use: NonNullable<typeof after>) => number) =>
    before && after && ((ms(after) - ms(before)) / said.requests) * 1000
  return {
    ...said,
    perSecond: said.requests / said.seconds,
    main: perCall(({ main }) => main),
    all: perCall(({ all }) => all),
    resident: after?.resident ?? null,
  }
}

interface Use {
  /** Processor time in ms since the process began. */
  readonly main: number
  readonly all: number
  /** Resident memory, MiB. */
  readonly resident: number
}

/** Returns the resources; null if the system does not report them. */
export function useOf(pid: number): Use | null {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const times = threads.map((thread) => timeOf(pid, thread))
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return {
      main: timeOf(pid, String(pid)),
      all: times.reduce((sum, each) => sum + each, 0),
      resident: Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) / 1024,
    }
  } catch {
    return null
  }
}

/** Returns the time on a processor, the first number of `schedstat`, ns. */
const timeOf = (pid: number, thread: string): number =>
  Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6

export interface Paired {
  /** Median of the differences between the two rounds of a pair, as a share of the base: 0.03 is 3 % more. */
  readonly median: number
  /** Interval that contains the true median with a probability of at least 95 %. */
  readonly low: number
  readonly high: number
}

/**
 * Returns the median of `differences` and its interval; throws for fewer than 6 pairs, which cannot reach 95
 * %.
 */
export function paired(differences: readonly number[]): Paired {
  const sorted = differences.toSorted((a, b) => a - b)
  const outside = outsideOf(sorted.length)
  const middle = sorted.length / 2
  return {
    median: (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2,
    low: sorted[outside]!,
    high: sorted[sorted.length - 1 - outside]!,
  }
}

/**
 * Returns the number of differences outside the interval on each side (sign test: each is above the median
 * with probability one half).
 */
function outsideOf(count: number): number {
  let tail = 0.5 ** count
  let ways = 1
  let outside = -1
  while (tail <= 0.025) {
    outside++
    ways = (ways * (count - outside)) / (outside + 1)
    tail += ways * 0.5 ** count
  }
  if (outside < 0) throw new Error(`bench: ${count} pairs are too few for an interval; take at least 6`)
  return outside
}

/** Round against one target. Times in µs. */
export interface StreamRound {
  /** Time from the request to the first event, median over short streams. */
  readonly firstEvent: number
  /** Time from the upstream's write to the client's read, over the events of one paced stream. */
  readonly p50: number
  readonly p99: number
  /** Events per second of one stream without pauses. */
  readonly flatOut: number
}

interface StreamSizes {
  /** Number of short streams in a round, for the time to the first event. */
  readonly short: number
  readonly events: number
  /** Pause between two events, ms. */
  readonly gap: number
  readonly flood: number
}

export async function streamRound(target: BenchTarget, sizes: StreamSizes): Promise<StreamRound> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    const first: number[] = []
    for (let stream = 0; stream < sizes.short; stream++)
      first.push((await ask(target, agent, 1, 0)).firstEvent)
    const { delays } = await ask(target, agent, sizes.events, sizes.gap)
    const { seconds } = await ask(target, agent, sizes.flood, 0)
    return {
      firstEvent: quantile(first, 0.5),
      p50: quantile(delays, 0.5),
      p99: quantile(delays, 0.99),
      flatOut: sizes.flood / seconds,
    }
  } finally {
    agent.destroy()
  }
}

/** Returns the quantile: the value below which this share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}

interface Streamed {
  readonly firstEvent: number
  readonly delays: readonly number[]
  readonly seconds: number
}

/** Requests one stream and reads it to its end; rejects if it is incomplete. */
function ask(target: BenchTarget, agent: Agent, events: number, gap: number): Promise<Streamed> {
  const content = `stream ${events} events ${gap} ms apart`
  const body = JSON.stringify({ model: 'auto', stream: true, messages: [{ role: 'user', content }] })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...target.headers,
  }
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint()
    const delays: number[] = []
    let firstEvent = 0
    let tail = ''
    const asking = request(target.url, { method: 'POST', agent, headers }, (response) => {
      response.setEncoding('latin1')
      response.on('data', (part: string) => {
        const now = process.hrtime.bigint()
        tail += part
        const whole = tail.lastIndexOf('\n\n') + 2
        if (whole < 2) return
        for (const [, sent] of tail.slice(0, whole).matchAll(/sent=(\d+);/g))
          delays.push(Number(now - BigInt(sent!)) / 1000)
        tail = tail.slice(whole)
        if (delays.length > 0) firstEvent ||= Number(now - start) / 1000
      })
      response.on('error', reject)
      response.on('end', () => {
        if (delays.length !== events)
          return reject(new Error(`${target.name}: ${delays.length} of ${events} events arrived`))
        resolve({ firstEvent, delays, seconds: Number(process.hrtime.bigint() - start) / 1e9 })
      })
    })
    asking.on('error', reject)
    asking.end(body)
  })
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
    readonly children?: readonly number[]
  }[]
  readonly startTime: number
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Prints both tables for every thread. `from` and `to` bound the load on the monotonic clock, µs. */
export function printProfiles(directory: string, from: number, to: number): void {
  for (const name of globSync('*.cpuprofile', { cwd: directory }).sort()) {
    // CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile
    const thread = basename(name).split('.')[4]
    const profile = JSON.parse(readFileSync(join(directory, name), 'utf8')) as Profile
    const { busy, idle, byFunction, byOrigin } = selfTimes(profile, from, to)
    if (busy + idle === 0) continue
    const share = (us: number) => `${((100 * us) / busy).toFixed(1).padStart(5)} %`
    const load = (100 * busy) / (busy + idle)
    console.log(
      `\n${thread === '0' ? 'Main thread' : `Writer thread (${thread})`}: busy ${load.toFixed(0)} %`,
    )
    console.log('  by origin, share of the busy time')
    for (const [origin, us] of descending(byOrigin)) console.log(`  ${share(us)}  ${origin}`)
    console.log('  by function, self time')
    for (const [where, us] of descending(byFunction).slice(0, 25)) console.log(`  ${share(us)}  ${where}`)
  }
}

function selfTimes({ nodes, startTime, samples, timeDeltas }: Profile, from: number, to: number) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const byFunction = new Map<string, number>()
  const byOrigin = new Map<string, number>()
  let [busy, idle, at] = [0, 0, startTime]
  for (const [index, id] of samples.entries()) {
    const us = timeDeltas[index]!
    at += us
    if (at < from || at > to) continue
    const { functionName, url, lineNumber } = byId.get(id)!.callFrame
    if (functionName === '(idle)') {
      idle += us
      continue
    }
    busy += us
    // Native code has no file, so its caller is used.
    const caller = byId.get(callers.get(id) ?? -1)?.callFrame
    const name = functionName || '(anonymous)'
    const where = url
      ? `${name}  ${short(url)}:${lineNumber + 1}`
      : `${name}  native, from ${caller?.functionName}`
    add(byFunction, name.startsWith('(') && !url ? name : where, us)
    add(
      byOrigin,
      url ? originOf(url) : name.startsWith('(') ? name : `native, from ${originOf(caller?.url)}`,
      us,
    )
  }
  return { busy, idle, byFunction, byOrigin }
}

function originOf(url = ''): string {
  const packaged = /.*\/node_modules\/((@[^/]+\/)?[^/]+)/.exec(url)?.[1]
  if (packaged) return packaged
  if (/^node:(_http|internal\/http|http)/.test(url)) return 'node http'
  if (/^node:(net|internal\/(stream|net))|stream/.test(url)) return 'node net and streams'
  if (/timers/.test(url)) return 'node timers'
  if (url.startsWith('node:')) return 'node, other'
  return url ? short(url) : 'native'
}

/** Shortens a path to the part below the project's folder. */
const short = (url: string): string => url.replace(/^.*?\/(node_modules|src|dist)\//, '$1/')

const add = (map: Map<string, number>, key: string, us: number): void => {
  map.set(key, (map.get(key) ?? 0) + us)
}

const descending = (map: Map<string, number>): [string, number][] => [...map].sort((a, b) => b[1] - a[1])
