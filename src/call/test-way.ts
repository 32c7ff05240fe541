// Measures the way of a plain call: starts a gateway, with the further providers, settings and members of its route in the environment, sends
// it calls over one connection, and prints what one call enters and allocates. Runs as a process of its own, with a heap
// that collects nothing meanwhile; see `way.slow-test.ts`.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** Functions and memory of a plain call. */
export interface Way {
  /** Functions of `src` that every call enters, as `file name`. */
  readonly functions: readonly string[]
  /** Bytes that the main thread allocates for a call, kB. */
  readonly kilobytes: number
}

const CALLS = 50
/** A function is on the way if every call enters it; what follows the last one may come too late. */
const MOST_CALLS = CALLS - 1
/** Rounds of calls; one is enough to see whether a feature is entered. */
const ROUNDS = Number(process.env.WAY_ROUNDS)
/**
 * Pause after each call, ms, and at least this many times as long as the call took, because a busy machine delays both: the
 * writer thread has then written the last call, as it has on a quiet gateway.
 */
const [PAUSE_MS, PAUSE_CALLS] = [20, 3]
/** The gateway's timers of this time or longer do nothing, ms: its chores come by time, so a slow machine has more a call. */
const CHORE_MS = 1_000
const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'model-a',
  choices: [{ index: 0, message: { role: 'assistant', content: 'All is well.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 },
})

const next = (worker: Worker): Promise<any> => new Promise((resolve) => void worker.once('message', resolve))

if (isMainThread) await measure()
else if (workerData === 'provider') provide()
else call()

/** Answers every request at once. */
function provide(): void {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER))
  })
  server.listen(0, '127.0.0.1', () => parentPort!.postMessage((server.address() as AddressInfo).port))
}

/** Makes the calls of each message one after the other. */
function call(): void {
  const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'where to?' }] })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-none-1234567890' }
  parentPort!.on('message', async ({ url, calls, pause }) => {
    for (let n = 0; n < calls; n++) {
      const began = performance.now()
      const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
      await answer.text()
      if (!answer.ok) throw new Error(`status ${answer.status}`)
      if (pause > 0) await sleep(Math.max(pause, PAUSE_CALLS * (performance.now() - began)))
    }
    parentPort!.postMessage('done')
  })
}

async function measure(): Promise<void> {
  const { parseConfig } = await import('../config/load.ts')
  const { SILENT } = await import('../core/process-log.ts')
  const { createGateway } = await import('../gateway/create-gateway.ts')
  const { SYSTEM_CLOCK, useClock } = await import('../shared/clock.ts')
  useClock({
    ...SYSTEM_CLOCK,
    after: (ms, work) => SYSTEM_CLOCK.after(ms, ms < CHORE_MS ? work : () => {}),
    every: (ms) => SYSTEM_CLOCK.every(ms, () => {}),
  })
  const provider = new Worker(new URL(import.meta.url), { workerData: 'provider' })
  const client = new Worker(new URL(import.meta.url), { workerData: 'client' })
  const data = mkdtempSync(join(tmpdir(), 'waybill-'))
  const port = await next(provider)
  const config = `server: { port: 0 }
data: ${data}
providers: { alpha: { dialect: openai, base_url: "http://127.0.0.1:${port}/v1" }, ${process.env.WAY_PROVIDERS ?? ''} }
routes: { auto: { targets: [ { model: alpha/model-a } ], ${process.env.WAY_ROUTE ?? ''} } }
${process.env.WAY_SETTINGS ?? ''}`
  const gateway = await createGateway({ ...parseConfig(config, 'way.yaml', { env: {} }), log: SILENT })
  const send = async (calls: number, pause: number) => {
    client.postMessage({ url: gateway.url, calls, pause })
    await next(client)
  }
  await send(10 * CALLS, 0) // compiles the code
  const rounds: number[] = []
  for (let n = 0; n < ROUNDS; n++) {
    const before = getHeapStatistics().used_heap_size
    await send(CALLS, PAUSE_MS)
    rounds.push((getHeapStatistics().used_heap_size - before) / CALLS / 1_000)
  }
  const kilobytes = Math.min(...rounds)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const root = new URL('..', import.meta.url).href
  const entered = async (): Promise<string[]> => {
    await session.post('Profiler.takePreciseCoverage')
    await send(CALLS, PAUSE_MS)
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ours = result.filter(({ url }) => url.startsWith(root))
    return ours.flatMap(({ url, functions }) =>
      functions
        .filter(({ ranges }) => ranges[0]!.count >= MOST_CALLS)
        .map(
          ({ functionName, ranges }) => `${url.slice(root.length)} ${functionName || ranges[0]!.startOffset}`,
        ),
    )
  }
  // On a busy machine the writer thread opens some calls.
  let functions = await entered()
  for (let n = 1; n < ROUNDS; n++) {
    const again = new Set(await entered())
    functions = functions.filter((each) => again.has(each))
  }
  console.log(JSON.stringify({ functions, kilobytes } satisfies Way))
  await gateway.close(100)
  rmSync(data, { recursive: true })
  process.exit()
}
