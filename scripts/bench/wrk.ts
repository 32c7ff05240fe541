// Load with wrk, the resources that a process used meanwhile as Linux reports them, and the comparison of two builds
// in pairs of neighbouring rounds, which cancels most of the variation of a busy machine.
import { execFile, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
