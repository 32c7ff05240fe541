// Runs wrk against one target and parses its result. Independent of the target and the comparison.
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { useOf } from './process.ts'
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
