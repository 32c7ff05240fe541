// The real program with a small heap and real sockets, for tests of one client's effects on other clients.
// Providers answer with large bodies in every dialect, clients do not read them, and another key continues to
// send calls.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { drained } from '../../mocks/test-upstream.ts'
import { temporaryDirectory } from './test-gateway.ts'

export const MIB = 2 ** 20

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

/** Whole answers with a gap for the text. */
const WHOLE: Readonly<Record<string, object>> = {
  chat: {
    id: 'c',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: '@' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  messages: {
    id: 'c',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: '@' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  responses: {
    id: 'c',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [
      {
        type: 'message',
        id: 'i',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: '@', annotations: [] }],
      },
    ],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
  gemini: {
    candidates: [{ content: { role: 'model', parts: [{ text: '@' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: 'm',
  },
  embeddings: {
    object: 'list',
    model: 'm',
    data: [{ object: 'embedding', index: 0, embedding: '@' }],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  },
  images: { created: 1, data: [{ b64_json: '@' }] },
  error: { error: { message: '@', type: 'server_error', code: 'server_error' } },
}

const event = (data: unknown, name?: string): string =>
  `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** Streams: the beginning, a piece of the text, and the end. */
const STREAMS: Readonly<Record<string, readonly [begin: string, piece: string, end: string]>> = {
  chat: [
    event({ model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }),
    event({ model: 'm', choices: [{ index: 0, delta: { content: '@' } }] }),
    event({ model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) + event('[DONE]'),
  ],
  messages: [
    event(
      { type: 'message_start', message: { ...WHOLE.messages, content: [], stop_reason: null } },
      'message_start',
    ) +
      event(
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        'content_block_start',
      ),
    event(
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '@' } },
      'content_block_delta',
    ),
    event({ type: 'content_block_stop', index: 0 }, 'content_block_stop') +
      event(
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
        'message_delta',
      ) +
      event({ type: 'message_stop' }, 'message_stop'),
  ],
  gemini: [
    '',
    event(WHOLE.gemini).replace('"finishReason":"STOP",', ''),
    event(WHOLE.gemini).replace('@', '.'),
  ],
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

const keyOf = (name: string) =>
  `{ name: ${name}, role: admin, digest: "sha256:${createHash('sha256').update(`key-of-${name}`).digest('hex')}" }`

/** Starts the gateway. `heap`: MB. `more` and `providers`: YAML. */
export async function startSmallHeap(t: TestContext, heap: number, more = '', providers = '') {
  const provider = await startLarge(t)
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
${providers}
routes: { auto: { targets: [ { model: chat/m } ] } }
keys: [ ${keyOf('ann')}, ${keyOf('bob')} ]
${more}`,
  )
  const child: ChildProcess = spawn(
    process.execPath,
    [`--max-old-space-size=${heap}`, 'src/cli.ts', 'serve', '--config', file],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  t.after(() => child.kill('SIGKILL'))
  let exit: string | null = null
  child.once('exit', (code, signal) => {
    exit = String(code ?? signal)
  })
  let said = ''
  for (const output of [child.stdout!, child.stderr!])
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
  const port = Number(found[1])
  const rss = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
  /**
   * Processor time of the serving thread, ms. Other clients wait for this time, regardless of the load on the
   * machine.
   */
  const served = () => {
    const fields = readFileSync(`/proc/${child.pid}/task/${child.pid}/stat`, 'utf8')
      .split(') ')[1]!
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  }
  let most = 0
  const timer = setInterval(() => {
    if (exit === null) most = Math.max(most, rss())
  }, 20)
  t.after(() => clearInterval(timer))
  return {
    port,
    url,
    said: () => said,
    exited: () => exit,
    served,
    /** Maximum resident memory so far, MiB. */
    mostMemory: () => Math.round(most),
    /** Opens a socket that reads nothing. */
    unread: (text: string): Socket => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      socket.pause()
      socket.on('error', () => {})
      socket.write(text)
      t.after(() => socket.destroy())
      return socket
    },
    /** Makes a small call with another key, or a large one that is read as it arrives. */
    async call(key: string, call: Partial<LargeCall> = {}) {
      const [path, bodyOf] = REQUESTS.chat
      const [begin, before] = [performance.now(), served()]
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer key-of-${key}` },
        body: JSON.stringify(bodyOf('chat/m', `size=${call.size ?? 10} status=200`)),
        signal: AbortSignal.timeout(ANSWER_MS),
      })
      const text = await response.text()
      return { status: response.status, text, ms: performance.now() - begin, served: served() - before }
    },
    async get(key: string, path: string) {
      const headers = { authorization: `Bearer key-of-${key}` }
      const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(ANSWER_MS) })
      return { status: response.status, json: (await response.json()) as any }
    },
  }
}
