// `npm run bench -- mock`: measures the cost of the mock in comparison with a bare node:http server that
// reads and checks nothing, in turns in the same run. Prints the results and writes no file. `--quick` tries
// the bench itself.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { quantile } from './streams.ts'
import { type BenchTarget, startUpstream } from './targets.ts'
import { hasWrk, wrk } from './wrk.ts'

const { quick = false } = parseArgs({ options: { quick: { type: 'boolean' } } }).values
const ROUNDS = quick ? 2 : 7
const SECONDS = quick ? 1 : 3
const CONNECTIONS = [1, 32]
const STREAMS = quick ? 3 : 10
const EVENTS = 10_000

/** Request to each of the two servers for a stream of this many events. */
const STREAM: Readonly<Record<string, object>> = {
  direct: { model: 'm', messages: [{ role: 'user', content: `stream ${EVENTS} events 0 ms apart` }] },
  mock: { model: 'scenario-many-events', messages: [{ role: 'user', content: 'go' }], stream: true },
}

if (!hasWrk()) {
  console.error('bench: wrk is missing; install it, for example with `apt-get install wrk`')
  process.exit(2)
}
const bare = await startUpstream()
const mock = await startMock()
try {
  const figures = new Map<string, { bare: number[]; mock: number[] }>()
  const note = (figure: string, target: BenchTarget, value: number) => {
    const both = figures.get(figure) ?? { bare: [], mock: [] }
    figures.set(figure, both)
    both[target === bare ? 'bare' : 'mock'].push(value)
  }
  for (const target of [bare, mock]) {
    await wrk(target, 32, 1)
    await eventsPerSecond(target)
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const target of round % 2 === 0 ? [bare, mock] : [mock, bare]) {
      for (const connections of CONNECTIONS) {
        const { perSecond, badStatus, socketErrors } = await wrk(target, connections, SECONDS)
        if (badStatus + socketErrors > 0)
          throw new Error(`${target.name}: ${badStatus} error answers, ${socketErrors} socket errors`)
        note(`answers/s, ${connections} connections`, target, perSecond)
      }
      note('events/s, one stream', target, await eventsPerSecond(target))
    }
  console.log(
    `Node ${process.versions.node}, ${ROUNDS} rounds; median (min–max); the ratio within each round`,
  )
  for (const [figure, both] of figures) {
    const ratios = both.mock.map((value, round) => value / both.bare[round]!)
    console.log(`${figure}: bare ${spread(both.bare, 0)}, mock ${spread(both.mock, 0)}, ${spread(ratios, 2)}`)
  }
} finally {
  await Promise.all([bare.stop(), mock.stop()])
}

/** Starts the built program in a separate process. */
async function startMock(): Promise<BenchTarget> {
  const args = ['dist/cli.js', 'mock', '--port', '0', '--control-port', '0', '--json']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'exit').then(() => {
      throw new Error('the mock did not start; run `npm run build` first')
    }),
  ])
  const { base_url, key } = JSON.parse(line).providers.openai
  const stop = async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  const headers = { authorization: `Bearer ${key}` }
  return {
    name: 'mock',
    url: `${base_url}/chat/completions`,
    headers,
    about: 'dist',
    pid: child.pid!,
    stop,
  }
}

/** Measures several streams one after the other, read at full speed. */
async function eventsPerSecond({ name, url, headers }: BenchTarget): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const body = JSON.stringify(STREAM[name])
  const started = performance.now()
  for (let stream = 0; stream < STREAMS; stream++) {
    const asking = request(url, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': body.length },
    })
    asking.end(body)
    const [answer] = await once(asking, 'response')
    let last = ''
    for await (const chunk of answer) last = (last + (chunk as Buffer).toString('latin1')).slice(-20)
    if (!last.endsWith('data: [DONE]\n\n')) throw new Error(`${name}: a stream without its end`)
  }
  agent.destroy()
  return (STREAMS * EVENTS) / ((performance.now() - started) / 1000)
}

function spread(numbers: readonly number[], digits: number): string {
  const text = (value: number) => value.toFixed(digits)
  return `${text(quantile(numbers, 0.5))} (${text(Math.min(...numbers))}–${text(Math.max(...numbers))})`
}
