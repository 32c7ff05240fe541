// `npm run agents -- transports`: measures how long unmodified Codex takes for a task with 25 tool calls,
// over a WebSocket and over HTTP, with and without a gateway. The line to the mock provider has a round trip
// of 50 ms, and 10 Mbit/s in each direction. All four combinations take turns. Prints the time of each run,
// and the ratios of the rounds.
//   npm run agents -- transports [--rounds N] [--scratch DIR]

import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { createMockProviders, type ScriptedAnswer, writeNonce } from '../../mocks/library.ts'
import { parseConfig } from '../../src/config/load.ts'
import { createGateway, type Gateway } from '../../src/gateway/create-gateway.ts'
import { installAgent } from './install.ts'
import { runBounded } from './process.ts'
import { TESTED_AGENTS } from './table.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    scratch: { type: 'string', default: join(tmpdir(), 'waybill-agents') },
  },
})

const CALLS = 25
const [ONE_WAY_MS, BYTES_PER_MS] = [25, 10e6 / 8 / 1_000]
const RUN_TIMEOUT_MS = 180_000
/** Model that Codex knows and offers its plain tools. */
const MODEL = 'gpt-5.4'
const FOUND = 'All is read.'

const WAYS = {
  'gateway, WebSocket': { gateway: true, socket: true },
  'gateway, HTTP': { gateway: true, socket: false },
  'direct, WebSocket': { gateway: false, socket: true },
  'direct, HTTP': { gateway: false, socket: false },
}
type Way = keyof typeof WAYS

const mock = await createMockProviders()
const key = mock.key('openai')
const origin = new URL(mock.baseUrl('openai'))

/** Bytes sent over the line in both directions. */
const carried = { up: 0, down: 0 }

/** Returns the remaining time until bytes sent at the given time arrive, ms. */
const leftUntil = (sent: number): number => Math.max(0, sent + ONE_WAY_MS - performance.now())

/** Passes on bytes after the delay of the line. Each direction carries bytes one after the other. */
function delayed(from: Socket, to: Socket, direction: keyof typeof carried): void {
  let free = 0
  from.on('data', (piece: Buffer) => {
    carried[direction] += piece.length
    free = Math.max(free, performance.now()) + piece.length / BYTES_PER_MS
    setTimeout(() => to.write(piece), leftUntil(free))
  })
  from.on('end', () => setTimeout(() => to.end(), leftUntil(free)))
  from.on('error', () => to.destroy())
}

const line = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const provider = connect({
    port: Number(origin.port),
    host: origin.hostname,
    noDelay: true,
    allowHalfOpen: true,
  })
  delayed(client, provider, 'up')
  delayed(provider, client, 'down')
}).listen(0, '127.0.0.1')
await once(line, 'listening')
const base = `http://127.0.0.1:${(line.address() as AddressInfo).port}${origin.pathname}`

const data = mkdtempSync(join(tmpdir(), 'waybill-transports-'))
const gatewayWith = (websocket: 'on' | 'off'): Promise<Gateway> =>
  createGateway(
    parseConfig(
      `server: { port: 0 }
data: ${join(data, websocket)}
providers: { up: { dialect: responses, base_url: "${base}", key: $KEY, websocket: ${websocket} } }
routes: { auto: { targets: [ { model: up/${MODEL} } ] } }
defaults: { responses: auto }
resilience: { retries: 0 }`,
      'transports.yaml',
      { env: { KEY: key } },
    ),
  )
const gateways = { socket: await gatewayWith('on'), http: await gatewayWith('off') }

const codex = TESTED_AGENTS.find(({ name }) => name === 'codex')!
const { program, version } = installAgent(codex, values.scratch)

interface Ran {
  readonly ms: number
  readonly requests: number
  readonly up: number
}

let runs = 0
async function run(way: Way): Promise<Ran> {
  const { gateway, socket } = WAYS[way]
  const home = mkdtempSync(join(data, 'home-'))
  const work = join(home, 'work')
  mkdirSync(work)
  const nonce = (++runs).toString(16).padStart(16, 'c')
  const answers: ScriptedAnswer[] = Array.from({ length: CALLS }, (_, n) => {
    // A message over a WebSocket contains only the new part, so each part must contain the nonce.
    writeFileSync(join(work, `${n}.txt`), `line ${n}, ${writeNonce(nonce)}\n`.repeat(40))
    return { say: { calls: [{ id: `call_${runs}_${n}`, ...codex.reads!(join(work, `${n}.txt`)) }] } }
  })
  mock.clear()
  mock.script(nonce, [...answers, { say: { text: FOUND }, times: 'every' }])
  const url = gateway ? `${gateways[socket ? 'socket' : 'http'].url}/v1` : base
  mkdirSync(join(home, '.codex'))
  writeFileSync(
    join(home, '.codex', 'config.toml'),
    `model = "${MODEL}"\nmodel_provider = "w"\n[model_providers.w]\nname = "w"\nbase_url = "${url}"\nwire_api = "responses"\nenv_key = "KEY"\nsupports_websockets = ${socket}\n`,
  )
  Object.assign(carried, { up: 0, down: 0 })
  const { ms, output } = await runBounded(
    program,
    [
      'exec',
      '--skip-git-repo-check',
      '--sandbox',
      'danger-full-access',
      `Read the files. ${writeNonce(nonce)}`,
    ],
    {
      env: {
        ...{ HOME: home, TMPDIR: home, LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1', CI: '1', KEY: key },
        PATH: [dirname(program), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
        // Only the gateway and the provider can be reached.
        ...{ HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' },
      },
      cwd: work,
      ms: RUN_TIMEOUT_MS,
    },
  )
  const requests = mock.entries().filter(({ kind }) => kind === 'inference').length
  if (!output.includes(FOUND)) throw new Error(`${way}: the task did not end well:\n${output.slice(-1_500)}`)
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  return { ms, requests, up: carried.up }
}

const seen = new Map<Way, Ran[]>()
const ways = Object.keys(WAYS) as Way[]
console.log(
  `Codex ${version}, ${MODEL}, ${CALLS} tool calls, ${2 * ONE_WAY_MS} ms and 10 Mbit/s to the provider`,
)
for (let round = 0; round < Number(values.rounds); round++)
  for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
    const ran = await run(way)
    seen.set(way, [...(seen.get(way) ?? []), ran])
    console.log(
      `${way}: ${(ran.ms / 1_000).toFixed(2)} s, ${ran.requests} requests, ${Math.round(ran.up / 1_000)} kB sent to the provider`,
    )
  }

const spread = (numbers: readonly number[], digits: number): string => {
  const sorted = numbers.toSorted((a, b) => a - b)
  const [least, most] = [sorted[0]!, sorted.at(-1)!]
  return `${sorted[sorted.length >> 1]!.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`
}
const ratio = (one: Way, other: Way): string =>
  spread(
    seen.get(one)!.map(({ ms }, round) => ms / seen.get(other)![round]!.ms),
    2,
  )
for (const way of ways)
  console.log(
    `${way}: ${spread(
      seen.get(way)!.map(({ ms }) => ms / 1_000),
      1,
    )} s`,
  )
console.log(
  `through the gateway, HTTP takes ${ratio('gateway, HTTP', 'gateway, WebSocket')} times as long as the WebSocket`,
)
console.log(`direct, HTTP takes ${ratio('direct, HTTP', 'direct, WebSocket')} times as long`)
console.log(
  `the gateway takes ${ratio('gateway, WebSocket', 'direct, WebSocket')} times as long as a direct WebSocket, ${ratio('gateway, HTTP', 'direct, HTTP')} times as long as direct HTTP`,
)

await Promise.all([gateways.socket.close(100), gateways.http.close(100), mock.close()])
line.close()
rmSync(data, { recursive: true, force: true, maxRetries: 5 })
process.exit(0)
