// A gateway with all of its parts, a mock of all providers in a process of its own, and short pieces of work for them
// that together reach nearly every listener. Clients of a piece of work never fail, and leave at its end.
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket, WebSocketServer } from 'ws'
import { collector } from '../telemetry/test-collector.ts'
import { startServer } from './test-cli.ts'
import { type TestGateway, testGateway } from './test-gateway.ts'
import { until } from './test-until.ts'

const KEYS = { root: 'root-key-0123456789', ann: 'ann-key-01234567890' }
const as = (who: keyof typeof KEYS) => ({ authorization: `Bearer ${KEYS[who]}` })
const ROOT = { headers: as('root') }
const JSON_TYPE = { 'content-type': 'application/json' }

/** Models with a price, so that every call reserves its cost. */
const MODELS = ['chat', 'resp', 'sock', 'anth', 'gem', 'dead'].flatMap((name) =>
  ['plain', 'huge-event', 'flood', 'silent', 'silent-midway', 'cut-after-2', 'drip', 'gzip', '500'].map(
    (scenario) => `${name}/scenario-${scenario}`,
  ),
)

export interface Mock {
  readonly url: string
  readonly controlUrl: string
}

/** Starts the mock providers in a process of their own, which has its own listeners. */
export async function startMock(t: TestContext): Promise<Mock> {
  const { url, said } = await startServer(t, ['mock', '--port', '0', '--control-port', '0'])
  const control = await until('the address of the control port', () =>
    /curl -s (http.*)\/ledger/.exec(said.stdout),
  )
  return { url: url.replace(/:$/, ''), controlUrl: control[1]! }
}

/** A client of one piece of work. */
export interface World extends TestGateway {
  /** Sends a POST as a client with a budget. Returns null if there is no whole answer. */
  post(
    path: string,
    body: unknown,
    init?: RequestInit,
  ): Promise<{ json: any; headers: Headers; status: number } | null>
  read(path: string): Promise<any>
  /** Opens a socket that fails silently. */
  socket(text: string): Socket
  webSocket(): Promise<WebSocket | null>
  /** Sets the mock's next answers. */
  script(...answers: readonly object[]): Promise<unknown>
  /** Returns the requests that the mock received. */
  ledger(): Promise<{ kind: string; endpoint: string }[]>
  /** True if the state of the record is unknown. */
  isInDoubt: boolean
  plainCall(): Promise<{ status: number } | null>
  /** Returns the amount that is reserved for the client's calls. */
  reserved(): Promise<number>
  /** Returns the number of internal errors on /metrics. */
  faults(): Promise<number>
  /** Makes all clients leave. */
  leave(): void
  /** Makes all clients leave, and stops the gateway. Rejects if that takes long. */
  stop(): Promise<void>
}

/** Starts a provider whose WebSockets answer with an invalid frame. Returns its address. */
async function oddSocket(t: TestContext): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(500).end())
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (ws) =>
      ws.on('error', () => {}).on('message', () => socket.end(Buffer.from([0xff, 0xff, 0xff, 0xff]))),
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const ws of sockets.clients) ws.terminate()
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

let worlds = 0

export async function startWorld(t: TestContext, mock: Mock): Promise<World> {
  const name = `w${++worlds}`
  const at = (path: string) => `${mock.url}/t/${name}${path}`
  const traces = await collector(t)
  const config = `  chat: { dialect: openai, base_url: "${at('/openai/v1')}", key: $openai }
  resp: { dialect: responses, base_url: "${at('/openai/v1')}", key: $openai }
  sock: { dialect: responses, base_url: "${at('/openai/v1')}", key: $openai, websocket: on }
  anth: { dialect: anthropic, base_url: "${at('/anthropic')}", key: $anthropic }
  gem: { dialect: gemini, base_url: "${at('/gemini')}", keys: [{ name: only, command: [echo, sk-mock-key-of-gemini] }] }
  dead: { dialect: openai, base_url: "http://127.0.0.1:9/v1", key: $openai }
  no-socket: { dialect: responses, base_url: "${at('/groq/openai/v1')}", key: $openai, websocket: on }
  odd-socket: { dialect: responses, base_url: "${await oddSocket(t)}/v1", key: $openai, websocket: on }
  dead-socket: { dialect: responses, base_url: "http://127.0.0.1:9/v1", key: $openai, websocket: on }
models: { ${MODELS.map((id) => `${id}: { price: { input: 1, output: 2 } }`).join(', ')} }
routes:
  cached: { cache: true, targets: [{ model: chat/scenario-plain }] }
  fallback: { targets: [{ model: dead/scenario-plain }, { model: chat/scenario-plain }] }
  fallback-speech: { targets: [{ model: dead/tts-1 }, { model: chat/tts-1 }] }
telemetry: { endpoint: "${traces.url}" }
responses: { store: { enabled: true } }
passthrough: [audio, moderations, rerank, completions, image-edits, files, batches]
passthrough_providers: { audio: [chat], files: [chat, anth, gem], batches: [chat, anth], completions: [chat] }
artifacts: { keep: 100, bodies: true }
resilience: { connect: 2s, stream_first_event: 1s, answer: 1s, idle: 1s, retries: 0, cooldown: 0s }
keys:
  - { name: root, role: admin, digest: "sha256:${hash('sha256', KEYS.root)}" }
  - { name: ann, rate: { requests: 1000, per: 1s }, digest: "sha256:${hash('sha256', KEYS.ann)}", budget: { usd: 1000, unpriced: allow } }`
  const gateway = await testGateway(t, {
    providers: {},
    env: {
      openai: 'sk-mock-key-of-openai',
      anthropic: 'sk-mock-key-of-anthropic',
      WAYBILL_RESPONSES_KEY: 'k'.repeat(44),
    },
    config,
    options: {
      threads: true, // as in use
      onDoubt: () => {
        world.isInDoubt = true
      },
      log: { error() {}, warn() {}, info() {}, debug() {} } as never,
    },
  })
  const left = new AbortController()
  const port = Number(new URL(gateway.url).port)
  const sockets: { destroy(): void }[] = []
  const world: World = {
    ...gateway,
    isInDoubt: false,
    async post(path, body, init = {}) {
      const isText = typeof body === 'string' || body instanceof FormData || Buffer.isBuffer(body)
      try {
        const response = await fetch(gateway.url + path, {
          method: 'POST',
          body: (isText ? body : JSON.stringify(body)) as string,
          ...init,
          headers: { ...(isText ? {} : JSON_TYPE), ...as('ann'), ...init.headers },
          signal: AbortSignal.any([
            left.signal,
            AbortSignal.timeout(4_000),
            ...(init.signal ? [init.signal] : []),
          ]),
        })
        const text = await response.text()
        return {
          status: response.status,
          headers: response.headers,
          json: text.startsWith('{') ? JSON.parse(text) : text,
        }
      } catch {
        return null
      }
    },
    read: async (path) => (await gateway.get(path, ROOT)).json,
    socket(text) {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      sockets.push(socket.on('error', () => {}))
      socket.write(text)
      return socket
    },
    async webSocket() {
      const ws = new WebSocket(`ws://127.0.0.1:${port}/v1/responses`, { headers: as('ann') })
      sockets.push({ destroy: () => ws.terminate() })
      const failed = new Promise<null>((resolve) =>
        ws.on('error', () => resolve(null)).on('close', () => resolve(null)),
      )
      return Promise.race([once(ws, 'open').then(() => ws), failed])
    },
    script: (...answers) =>
      fetch(`${mock.controlUrl}/t/${name}/answers`, {
        method: 'POST',
        body: JSON.stringify(
          answers.map((each) => ('kind' in each ? each : { model: 'scenario-plain', ...each })),
        ),
      }),
    ledger: async () =>
      ((await (await fetch(`${mock.controlUrl}/t/${name}/ledger`)).json()) as any).entries ?? [],
    plainCall: () =>
      fetch(gateway.url + CHAT, {
        method: 'POST',
        headers: { ...JSON_TYPE, ...as('ann') },
        body: JSON.stringify(chat('chat/scenario-gzip')),
      }),
    reserved: async () => (await gateway.get('/api/keys/me', { headers: as('ann') })).json.reserved_usd,
    faults: async () =>
      Number(/^waybill_internal_errors_total (\d+)/m.exec((await gateway.get('/metrics', ROOT)).text)?.[1]),
    leave() {
      left.abort()
      for (const socket of sockets) socket.destroy()
    },
    async stop() {
      world.leave()
      const late = sleep(10_000, 'late', { ref: false })
      const how = await Promise.race([gateway.gateway.close(300), late])
      if (how === 'late') throw new Error('the gateway does not stop')
    },
  }
  return world
}

/** Bytes of a request. */
export const bytesOf = (line: string, body = '', ...headers: string[]): string =>
  `${[`${line} HTTP/1.1`, 'host: localhost', `authorization: Bearer ${KEYS.ann}`, ...(body ? [`content-type: application/json`, `content-length: ${Buffer.byteLength(body)}`] : []), ...headers].join('\r\n')}\r\n\r\n${body}`

const ended = (emitter: Socket | WebSocket, ms = 3_000) =>
  Promise.race([once(emitter, 'close'), sleep(ms, undefined, { ref: false })]).catch(() => {})

const CHAT = '/v1/chat/completions'
let asked = 0
const chat = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: `where to? ${++asked}` }],
  ...more,
})
const respond = (model: string, more: object = {}) => ({ model, input: `where to? ${++asked}`, ...more })
const message = (model: string, more: object = {}) => ({ ...chat(model), max_tokens: 100, ...more })
const gemini = { contents: [{ role: 'user', parts: [{ text: 'where to?' }] }] }

/** Sends one whole and one streamed request in each dialect. */
async function inAllDialects(w: World, providers: readonly [string, string, string, string]): Promise<void> {
  const [c, r, m, g] = providers
  for (const stream of [false, true]) {
    await w.post(CHAT, chat(`${c}/scenario-plain`, { stream }))
    await w.post('/v1/responses', respond(`${r}/scenario-plain`, { stream }))
    await w.post('/v1/messages', message(`${m}/scenario-plain`, { stream }))
    const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    await w.post(`/v1beta/models/${g}/scenario-plain:${verb}`, gemini)
  }
}

/** More than the buffers of a connection hold. */
const LARGE = {
  events: [...Array.from({ length: 16 }, () => ({ said: 'x'.repeat(2 ** 20) })), { ending: true }],
}

/** Reads one piece of an answer, waits, and then leaves. */
async function readSlowly(w: World, request: string, ms: number): Promise<void> {
  const socket = w.socket(request)
  await Promise.race([once(socket, 'data'), sleep(2_000, undefined, { ref: false })]).catch(() => {})
  socket.pause()
  await sleep(ms)
  socket.resume()
  await sleep(50)
  socket.destroy()
}

/** Sends messages on a socket, and waits for the ends of `count` responses. */
async function converse(w: World, messages: readonly object[], count: number, ms = 3_000): Promise<any[]> {
  const ws = await w.webSocket()
  if (!ws) return []
  const events: any[] = []
  const all = new Promise<void>((resolve) => {
    ws.on('message', (data) => {
      events.push(JSON.parse(String(data)))
      const ends = events.filter(({ type }) => /^(error|response\.(completed|incomplete|failed))$/.test(type))
      if (ends.length >= count) resolve()
    }).on('close', () => resolve())
  })
  for (const each of messages) ws.send(JSON.stringify(each))
  ws.pong()
  await Promise.race([all, sleep(ms, undefined, { ref: false })])
  const last = events.find(({ type }) => type === 'response.completed')?.response?.id
  if (last !== undefined && ws.readyState === ws.OPEN) {
    const next = once(ws, 'message').catch(() => {})
    ws.send(
      JSON.stringify({
        type: 'response.create',
        ...respond('resp/scenario-plain'),
        previous_response_id: last,
      }),
    )
    await Promise.race([next, sleep(500, undefined, { ref: false })])
    await sleep(50)
  }
  ws.close()
  await ended(ws, 500)
  return events
}

const ANTHROPIC = 'anthropic-version: 2023-06-01'

const create = (model: string, more: object = {}) => ({ type: 'response.create', ...respond(model), ...more })

/** Pieces of work by name. */
export const WORK: Readonly<Record<string, (w: World) => Promise<unknown>>> = {
  'calls in all dialects': (w) => inAllDialects(w, ['chat', 'resp', 'anth', 'gem']),
  'translated calls': (w) => inAllDialects(w, ['anth', 'gem', 'chat', 'resp']),
  'counted tokens': async (w) => {
    await w.post('/v1/messages/count_tokens', message('anth/scenario-plain'))
    await w.post('/v1beta/models/gem/scenario-plain:countTokens', gemini)
    await w.post('/v1/responses/input_tokens', respond('resp/scenario-plain'))
    await w.script({ kind: 'token_count', wait: 3_000 })
    const socket = w.socket(
      bytesOf('POST /v1/messages/count_tokens', JSON.stringify(message('anth/scenario-plain')), ANTHROPIC),
    )
    await sleep(150)
    socket.destroy()
    await sleep(50)
  },
  'stored responses': async (w) => {
    const made = await w.post('/v1/responses', respond('anth/scenario-plain', { store: true }))
    const id = made?.json?.id
    await w.post('/v1/responses', respond('anth/scenario-plain', { previous_response_id: id, stream: true }))
    await w.get(`/v1/responses/${id}`, { headers: as('ann') })
    await w.get(`/v1/responses/${id}/input_items`, { headers: as('ann') })
    await w.get(`/v1/responses/${id}`, { method: 'DELETE', headers: as('ann') })
  },
  'responses stored by the provider': async (w) => {
    const made = await w.post('/v1/responses', respond('resp/scenario-plain', { store: true }))
    const id = made?.json?.id
    await w.get(`/v1/responses/${id}`, { headers: as('ann') })
    await w.get(`/v1/responses/${id}/input_items`, { headers: as('ann') })
    await w.get(`/v1/responses/${id}`, { method: 'DELETE', headers: as('ann') })
  },
  'background responses': async (w) => {
    const run = async (model: string) => {
      const made = await w.post('/v1/responses', respond(model, { background: true }))
      const id = made?.json?.id
      for (let tries = 0; id && tries < 20; tries++) {
        const { json } = await w.get(`/v1/responses/${id}`, { headers: as('ann') })
        if (json?.status !== 'queued' && json?.status !== 'in_progress') break
        await sleep(150)
      }
    }
    await Promise.all([run('resp/scenario-plain'), run('anth/scenario-plain')])
    const made = await w.post('/v1/responses', respond('resp/scenario-plain', { background: true }))
    await w.post(`/v1/responses/${made?.json?.id}/cancel`, {})
  },
  'a background response that nobody reads': async (w) => {
    await w.post('/v1/responses', respond('resp/scenario-plain', { background: true }))
    const left = new AbortController()
    setTimeout(() => left.abort(), 150).unref()
    const init = { signal: left.signal }
    await w.post('/v1/responses', respond('resp/scenario-drip', { background: true, stream: true }), init)
    await sleep(2_700)
  },
  'speech and completions': async (w) => {
    await w.post('/v1/audio/speech', {
      model: 'chat/tts-1',
      input: 'hello',
      voice: 'alloy',
      response_format: 'wav',
    })
    await w.post('/v1/audio/speech', { model: 'fallback-speech', input: 'hello', voice: 'alloy' })
    await w.post('/v1/audio/speech', { model: 'chat/tts-1' })
    await w.post('/v1/completions', { model: 'chat/scenario-plain', prompt: 'where to?', stream: true })
    await w.post('/v1/completions', { model: 'chat/scenario-silent', prompt: 'where to?' })
  },
  'relayed answers that are read slowly': async (w) => {
    const body = JSON.stringify({ model: 'chat/scenario-plain', prompt: 'where to?', stream: true })
    const large = { events: Array.from({ length: 16 }, () => ({ data: 'x'.repeat(2 ** 20) })) }
    for (const ms of [300, 0, 2_500]) {
      await w.script(large)
      await readSlowly(w, bytesOf('POST /v1/completions', body), ms)
    }
  },
  'files and batches': async (w) => {
    const form = new FormData()
    const line = { custom_id: 'a', method: 'POST', url: CHAT, body: chat('gpt-5.4') }
    form.set('purpose', 'batch')
    form.set('file', new Blob([`${JSON.stringify(line)}\n`.repeat(400)]), 'batch.jsonl')
    const file = (await w.post('/v1/files', form))?.json?.id
    await w.get('/v1/files', { headers: as('ann') })
    await w.get(`/v1/files/${file}/content`, { headers: as('ann') })
    const one = new FormData()
    one.set('purpose', 'batch')
    one.set('file', new Blob([`${JSON.stringify(line)}\n`]), 'batch.jsonl')
    const small = (await w.post('/v1/files', one))?.json?.id
    const asked = { input_file_id: small, endpoint: CHAT, completion_window: '24h' }
    const batch = (await w.post('/v1/batches', asked))?.json?.id
    let output: string | undefined
    for (let tries = 0; tries < 4 && !output; tries++)
      output = (await w.get(`/v1/batches/${batch}`, { headers: as('ann') })).json?.output_file_id
    await w.get(`/v1/files/${output}/content`, { headers: as('ann') })
    await w.get(`/v1/files/${file}`, { method: 'DELETE', headers: as('ann') })
  },
  'an upload in parts': async (w) => {
    const begun = await w.post(
      '/upload/v1beta/files',
      { file: { display_name: 'a' } },
      {
        headers: {
          'x-goog-upload-protocol': 'resumable',
          'x-goog-upload-command': 'start',
          'x-goog-upload-header-content-length': '200000',
          'x-goog-upload-header-content-type': 'text/plain',
        },
      },
    )
    const address = begun?.headers.get('x-goog-upload-url')
    if (!address) return
    const { pathname, search } = new URL(address)
    const part = (command: string, offset: string) =>
      w.post(`${pathname}${search}`, Buffer.alloc(100_000, 0x61), {
        headers: { 'x-goog-upload-command': command, 'x-goog-upload-offset': offset },
      })
    await part('upload', '0')
    await part('upload, finalize', '100000')
  },
  'uploads that break off': async (w) => {
    const begin = bytesOf(
      'POST /v1/files',
      '',
      'content-type: multipart/form-data; boundary=b',
      'content-length: 900000',
    )
    const silent = w.socket(begin)
    await ended(silent, 1_500)
    for (const size of [100, 300_000]) {
      const part = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
      const socket = w.socket(begin + part + 'x'.repeat(size))
      await sleep(150)
      socket.destroy()
    }
  },
  'a conversation over a WebSocket': (w) =>
    converse(
      w,
      [
        create('resp/scenario-plain', { stream_id: 'one' }),
        create('anth/scenario-plain', { stream_id: 'two', store: false }),
        create('resp/scenario-plain', { stream_id: 'one' }),
        {
          type: 'response.create',
          model: 'resp/scenario-plain',
          input: [],
          generate: false,
          stream_id: 'three',
        },
        { type: 'nonsense' },
        create('nowhere/at-all', { stream_id: 'four' }),
      ],
      5,
    ),
  'WebSockets that are left': async (w) => {
    const ws = await w.webSocket()
    ws?.send(JSON.stringify(create('resp/scenario-silent-midway')))
    await sleep(200)
    ws?.terminate()
    const slow = await w.webSocket()
    await w.script(LARGE)
    ;(slow as any)?._socket?.pause()
    slow?.send(JSON.stringify(create('resp/scenario-plain')))
    await sleep(1_500) // longer than a client may read nothing
    ;(slow as any)?._socket?.resume()
    await sleep(100)
    slow?.terminate()
    const odd = await w.webSocket()
    odd?.send(Buffer.from([1, 2, 3]))
    if (odd) await ended(odd, 300)
    const broken = await w.webSocket()
    ;(broken as any)?._socket?.write(Buffer.from([0xff, 0xff, 0xff, 0xff]))
    if (broken) await ended(broken, 300)
    const reset = await w.webSocket()
    ;(reset as any)?._socket?.resetAndDestroy()
    const cut = await w.webSocket()
    cut?.send(JSON.stringify(create('chat/scenario-cut-after-2')))
    await sleep(200)
  },
  'refused upgrades': async (w) => {
    const key = ['upgrade: websocket', 'connection: upgrade', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==']
    for (const [path, version] of [
      ['/v1/nowhere', '13'],
      ['/v1/responses', '99'],
    ])
      await ended(w.socket(bytesOf(`GET ${path}`, '', ...key, `sec-websocket-version: ${version}`)), 300)
  },
  "calls over a provider's WebSocket": async (w) => {
    const ask = (more: object) =>
      w.post('/v1/responses', { ...respond('sock/scenario-plain', more), stream: true })
    const first = await ask({})
    await ask({ input: [{ role: 'user', content: 'one' }] })
    await ask({ previous_response_id: String(first?.json).match(/resp_\w+/)?.[0] ?? null })
    for (const name of ['no-socket', 'odd-socket', 'dead-socket'])
      await w.post('/v1/responses', respond(`${name}/scenario-plain`, { stream: true }))
    await w.post('/v1/responses', respond('sock/scenario-silent-midway', { stream: true }))
    const left = new AbortController()
    setTimeout(() => left.abort(), 200).unref()
    await w.post('/v1/responses', respond('sock/scenario-silent-midway', { stream: true }), {
      signal: left.signal,
    })
  },
  'the live feed': async (w) => {
    const head = `GET /api/usage/live HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEYS.root}\r\n\r\n`
    const socket = w.socket(head).resume()
    await w.post(CHAT, chat('chat/scenario-plain'))
    await sleep(250)
    socket.destroy()
    await sleep(50)
  },
  'a live feed that is not read': async (w) => {
    const socket = w.socket(bytesOf('GET /api/usage/live').replace(KEYS.ann, KEYS.root))
    await once(socket, 'data')
    socket.pause()
    const more = { metadata: { text: 'x'.repeat(400) }, user: 'x'.repeat(400) }
    for (let n = 0; n < 4; n++)
      await Promise.all(Array.from({ length: 40 }, () => w.post(CHAT, chat('dead/scenario-plain', more))))
    socket.resume()
    await sleep(300)
  },
  'broken streams that are read slowly': async (w) => {
    const { events } = LARGE
    await w.script({ events: [...events.slice(0, -1), { end: 'cut' }] })
    await readSlowly(
      w,
      bytesOf(`POST ${CHAT}`, JSON.stringify(chat('chat/scenario-plain', { stream: true }))),
      2_500,
    )
  },
  'slow translated streams': async (w) => {
    await w.post('/v1/messages', message('chat/scenario-drip', { stream: true }))
    await w.post('/v1/messages', message('chat/scenario-silent-midway', { stream: true }))
  },
  'exports that are read slowly': async (w) => {
    for (let n = 0; n < 3; n++) await w.post(CHAT, chat('chat/scenario-huge-event'))
    for (const form of ['csv', 'json']) await readSlowly(w, bytesOf(`GET /api/usage/export?form=${form}`), 10)
  },
  'answers that are read slowly': async (w) => {
    const ask = (more: object) => bytesOf(`POST ${CHAT}`, JSON.stringify(chat('chat/scenario-plain', more)))
    for (const [more, ms] of [
      [{ stream: true }, 300],
      [{}, 300],
      [{ stream: true }, 2_500], // longer than a client may read nothing
      [{}, 2_500],
    ] as const) {
      await w.script('stream' in more ? LARGE : { say: { text: 'x'.repeat(2 ** 24) } })
      await readSlowly(w, ask(more), ms)
    }
  },
  'clients that leave': async (w) => {
    for (const model of ['silent', 'silent-midway'])
      for (const stream of [true, false]) {
        const socket = w.socket(
          bytesOf(`POST ${CHAT}`, JSON.stringify(chat(`chat/scenario-${model}`, { stream }))),
        )
        await sleep(120)
        socket.destroy()
      }
    const half = bytesOf(`POST ${CHAT}`, JSON.stringify(chat('chat/scenario-plain'))).slice(0, -10)
    const socket = w.socket(half)
    await sleep(50)
    socket.destroy()
  },
  'half-closed clients': async (w) => {
    const one = w.socket('')
    one.resume().end(bytesOf(`POST ${CHAT}`, JSON.stringify(chat('chat/scenario-plain'))))
    await ended(one, 500)
    const two = w.socket('')
    two.resume().end(bytesOf(`POST ${CHAT}`, JSON.stringify(chat('chat/scenario-silent'))))
    await ended(two, 1_500)
  },
  'pipelined requests': async (w) => {
    const call = () => bytesOf(`POST ${CHAT}`, JSON.stringify(chat('chat/scenario-plain')))
    const socket = w.socket(call() + bytesOf('GET /healthz') + call()).resume()
    await sleep(500)
    socket.destroy()
    await ended(w.socket(call() + bytesOf('GET /healthz').repeat(40)).resume(), 300)
  },
  'odd requests': async (w) => {
    w.socket('nonsense\r\n\r\n').resume()
    w.socket(bytesOf('GET /healthz', '', 'expect: 200-maybe')).resume()
    w.socket(bytesOf('GET /healthz', '{"a":1}')).resume()
    w.socket(bytesOf('OPTIONS /v1/models')).resume()
    await sleep(150)
    await w.post(CHAT, 'not json')
    await w.post(CHAT, chat('nowhere/at-all'))
  },
  'providers that fail': async (w) => {
    await w.post(CHAT, chat('chat/scenario-silent'))
    await w.post(CHAT, chat('chat/scenario-silent-midway', { stream: true }))
    await w.post(CHAT, chat('chat/scenario-cut-after-2', { stream: true }))
    await w.post(CHAT, chat('chat/scenario-500'))
    await w.post(CHAT, chat('chat/scenario-gzip'))
    await w.post(CHAT, chat('dead/scenario-plain'))
    await w.post(CHAT, chat('fallback'))
  },
  'large answers': async (w) => {
    await w.post(CHAT, chat('chat/scenario-huge-event'))
    await w.post(CHAT, chat('chat/scenario-huge-event', { stream: true }))
    await w.post('/v1/messages', message('chat/scenario-huge-event', { stream: true }))
  },
  'a cache hit': async (w) => {
    const same = {
      ...chat('cached'),
      messages: [{ role: 'user', content: 'the same' }],
      temperature: 0,
      seed: 1,
    }
    for (const stream of [false, true]) for (let n = 0; n < 2; n++) await w.post(CHAT, { ...same, stream })
  },
  'many calls at once': async (w) => {
    await Promise.all(Array.from({ length: 40 }, () => w.post(CHAT, chat('chat/scenario-plain'))))
  },
  'spans that are sent': async (w) => {
    await w.post(CHAT, chat('chat/scenario-plain'))
    await sleep(2_500)
  },
}
