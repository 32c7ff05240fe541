// Measures the overhead of a proxy on a stream: until the first event, for every event, and in events per
// second without pauses. The upstream writes the time of sending into each event; both ends read the same
// monotonic clock.
import { Agent, request } from 'node:http'
import type { BenchTarget } from './targets.ts'

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
