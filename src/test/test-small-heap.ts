// The real program with a small heap and real sockets, for tests of one client's effects on other clients.
// Providers answer with large bodies in every dialect, clients do not read them, and another key continues to
// send calls.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { drained } from '../../mocks/test-upstream.ts'
import { MIB, STREAMS, WHOLE } from './test-answers.ts'
import { temporaryDirectory } from './test-gateway.ts'
import { longestTurn } from './test-turn-meter.ts'

/**
 * Maximum wait of the other key for an answer, ms. Other tests may use the cores meanwhile; `served` measures
 * the gateway's part.
 */
export const ANSWER_MS = 60_000

/**
 * Request bodies by endpoint of the client. The text of a request contains the size of the requested answer.
 */
const REQUESTS = {
  chat: ['/v1/chat/completions', (model: string, text: string) => ({ model, messages: [user(text)] })],
  messages: [
    '/v1/messages',
    (model: string, text: string) => ({ model, max_tokens: 99, messages: [user(text)] }),
  ],
  responses: ['/v1/responses', (model: string, text: string) => ({ model, input: text, store: false })],
  gemini: ['/v1beta/models/*:generateContent', (_: string, text: string) => ({ contents: [parts(text)] })],
  embeddings: ['/v1/embeddings', (model: string, text: string) => ({ model, input: text })],
  images: ['/v1/images/generations', (model: string, text: string) => ({ model, prompt: text })],
} as const

export type Endpoint = keyof typeof REQUESTS

const user = (content: string) => ({ role: 'user', content })
const parts = (text: string) => ({ role: 'user', parts: [{ text }] })

export interface LargeCall {
  readonly from: Endpoint
  /** Name of the provider, which is a dialect. */
  readonly to: 'chat' | 'messages' | 'responses' | 'gemini'
  /** Size of the answer, bytes. */
  readonly size: number
  readonly status?: number
  readonly stream?: boolean
  readonly key?: string
  readonly headers?: readonly string[]
}

/** Returns the bytes of a request for a large answer. */
export function requestOf({
  from,
  to,
  size,
  status = 200,
  stream,
  key = 'ann',
  headers = [],
}: LargeCall): string {
  const [path, bodyOf] = REQUESTS[from]
  const json = { ...bodyOf(`${to}/m`, `size=${size} status=${status}`), ...(stream && { stream }) }
  const body = JSON.stringify(json)
  const at = stream && from === 'gemini' ? path.replace(':generate', ':streamGenerate') : path
  const lines = [
    `POST ${at.replace('*', `${to}/m`)}${stream && from === 'gemini' ? '?alt=sse' : ''} HTTP/1.1`,
    'host: localhost',
    `authorization: Bearer key-of-${key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...headers,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Starts a provider for all dialects. The provider answers whole or in pieces of 64 KiB. */
async function startLarge(t: TestContext): Promise<number> {
  const filled = new Map<string, Buffer>()
  const fill = (text: string, size: number) => {
    const name = `${size} ${text}`
    const made = filled.get(name) ?? Buffer.from(text.replace('@', () => 'x'.repeat(size)))
    filled.set(name, made)
    return made
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const [, size = '1', status = '200'] = /size=(\d+) status=(\d+)/.exec(text) ?? []
    const dialect = ['embeddings', 'images', 'messages', 'responses', 'chat'].find((name) =>
      request.url!.includes(name),
    )
    const kind = Number(status) >= 400 ? 'error' : (dialect ?? 'gemini')
    if (!/"stream":true|alt=sse/.test(text + request.url!)) {
      response.writeHead(Number(status), { 'content-type': 'application/json' })
      response.end(fill(JSON.stringify(WHOLE[kind]), Number(size)))
      return
    }
    const [begin, piece, end] = STREAMS[kind]!
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(begin)
    for (let sent = 0; sent < Number(size) && !response.destroyed; sent += MIB / 16)
      if (!response.write(fill(piece, MIB / 16))) await drained(response)
    response.end(end)
  }
  const provider = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  provider.keepAliveTimeout = 300_000 // longer than the gateway keeps an idle connection
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  t.after(() => {
    provider.closeAllConnections()
    provider.close()
  })
  return (provider.address() as AddressInfo).port
}

const METER = new URL('./test-turn-meter.ts', import.meta.url).href

const keyOf = (name: string) =>
  `{ name: ${name}, role: admin, digest: "sha256:${createHash('sha256').update(`key-of-${name}`).digest('hex')}" }`

/**
 * Starts the gateway. `heap`: MB. `more` and `providers`: YAML. `port`: port of another provider for large answers; small ones then come
 * from the provider `small`.
 */
export async function startSmallHeap(
  t: TestContext,
  heap: number,
  more = '',
  providers = '',
  port: number | null = null,
) {
  const small = await startLarge(t)
  const provider = port ?? small
  let child: ChildProcess | null = null
  t.after(async () => {
    if (child?.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const data = temporaryDirectory(t)
  const file = join(data, 'waybill.yaml')
  const base = `http://127.0.0.1:${provider}`
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${data}/data
providers:
  chat: { dialect: openai, base_url: "${base}/v1" }
  messages: { dialect: messages, base_url: "${base}/v1" }
  responses: { dialect: responses, base_url: "${base}/v1" }
  gemini: { dialect: gemini, base_url: "${base}/v1beta" }
  sockets: { dialect: responses, base_url: "${base}/v1", websocket: on }
  small: { dialect: openai, base_url: "http://127.0.0.1:${small}/v1" }
${providers}
routes: { auto: { targets: [ { model: chat/m } ] } }
keys: [ ${keyOf('ann')}, ${keyOf('bob')} ]
${more}`,
  )
  const started: ChildProcess = spawn(
    process.execPath,
    [`--max-old-space-size=${heap}`, '--import', METER, 'src/cli.ts', 'serve', '--config', file],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, WAYBILL_RESPONSES_KEY: 'k'.repeat(44), TURN_METER: `${data}/turn` },
    },
  )
  child = started
  let exit: string | null = null
  started.once('exit', (code, signal) => {
    exit = String(code ?? signal)
  })
  let said = ''
  for (const output of [started.stdout!, started.stderr!])
    output.on('data', (chunk) => {
      if (said.length < MIB) said += chunk
    })
  let found: RegExpExecArray | null = null
  while (found === null) {
    assert.equal(exit, null, said)
    await sleep(20)
    found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)
  }
  const url = found[0]
  const listening = Number(found[1])
  const rss = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${started.pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
  /**
   * Processor time of the serving thread, ms. Other clients wait for this time, regardless of the load on the
   * machine.
   */
  const served = () => {
    const [nanoseconds] = readFileSync(`/proc/${started.pid}/task/${started.pid}/schedstat`, 'utf8').split(
      ' ',
    )
    return Number(nanoseconds) / 1e6
  }
  const turns = `${data}/turn`
  let most = 0
  const timer = setInterval(() => {
    if (exit === null) most = Math.max(most, rss())
  }, 20)
  t.after(() => clearInterval(timer))
  return {
    port: listening,
    data: `${data}/data`,
    url,
    said: () => said,
    exited: () => exit,
    served,
    /** Returns the processor time of the longest turn of the event loop while `work` runs, ms. */
    async longestTurn(work: () => Promise<unknown>): Promise<number> {
      await sleep(20)
      const { size } = statSync(turns)
      await work()
      await sleep(20)
      return longestTurn(turns, size)
    },
    /** Maximum resident memory so far, MiB. */
    mostMemory: () => Math.round(most),
    /** Opens a socket that reads nothing. */
    unread: (text: string): Socket => {
      const socket = connect({ port: listening, host: '127.0.0.1', allowHalfOpen: true })
      socket.pause()
      socket.on('error', () => {})
      socket.write(text)
      t.after(() => socket.destroy())
      return socket
    },
    /** Makes a small call with another key, or a large one that is read as it arrives. */
    async call(key: string, call: Partial<LargeCall> = {}) {
      const [path, bodyOf] = REQUESTS.chat
      const [begin, before, { size }] = [performance.now(), served(), statSync(turns)]
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer key-of-${key}` },
        body: JSON.stringify(
          bodyOf(`${port === null ? 'chat' : 'small'}/m`, `size=${call.size ?? 10} status=200`),
        ),
        signal: AbortSignal.timeout(ANSWER_MS),
      })
      const text = await response.text()
      const [ms, longest] = [performance.now() - begin, longestTurn(turns, size)]
      return { status: response.status, text, ms, served: served() - before, longest }
    },
    async get(key: string, path: string) {
      const headers = { authorization: `Bearer key-of-${key}` }
      const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(ANSWER_MS) })
      return { status: response.status, json: (await response.json()) as any }
    },
  }
}
