// The gateway, the keys and the providers of a simulation, and what its clients send, also over WebSockets.
import { createHash } from 'node:crypto'
import type { FarEnd, FarListener } from './network.ts'
import { type Deed, type SimulatedDialect, type SimulatedProvider, TOKENS } from './provider.ts'

export const PROVIDERS: readonly SimulatedProvider[] = (
  [
    ['one', 'chat'],
    ['two', 'chat'],
    ['anth', 'messages'],
    ['resp', 'responses'],
    ['gem', 'gemini'],
  ] as const
).map(([name, dialect]) => ({
  name,
  dialect,
  origin: `http://${name}.test`,
}))

export const KEY_NAMES = ['ann', 'bob', 'eve', 'root'] as const
type KeyName = (typeof KEY_NAMES)[number]
/** Number of times that the key of each client and provider was replaced, by name. */
type Rotations = Readonly<Record<string, number>>
export const keyOf = (name: KeyName, rotation = 0): string => `wbkey-${name}-${rotation}-0123456789`
export const providerKeyOf = (name: string, rotations: Rotations): string =>
  `sk-sim-${name}-${rotations[name] ?? 0}-0123456789`

/** US dollars per million tokens. */
export const PRICE = { input: 1_000, output: 2_000 }
export const RATE = { requests: 6, perMs: 10_000 }
/** Output that every call asks for at most, tokens. */
const MAX_TOKENS = 20

/** Routes and direct models that calls name, with the dialect in which no call is translated. */
export const MODELS: Readonly<Record<string, SimulatedDialect | null>> = {
  auto: 'chat',
  mix: null,
  cached: 'chat',
  'one/m-one': 'chat',
  'anth/m-anth': 'messages',
  'resp/m-resp': 'responses',
  'gem/m-gem': 'gemini',
}

interface Settings {
  readonly durability: string
  readonly budget: number
  readonly reloads: number
  readonly rotations: Rotations
}

/** Writes the configuration. */
export const configurationIn = ({ durability, budget, reloads, rotations }: Settings): string =>
  `server: { host: 127.0.0.1, port: 0, memory: 64MiB, max_calls: 90, headers_timeout: 1h, request_timeout: 1h }
data: nowhere
durability: ${durability}
providers:
${PROVIDERS.map(({ name, dialect, origin }) => `  ${name}: { dialect: ${name === 'one' ? '[chat, embeddings]' : dialect}, base_url: "${origin}${dialect === 'gemini' ? '/v1beta' : '/v1'}", key: $${name} }`).join('\n')}
models: { ${PROVIDERS.map(({ name }) => `${name}/m-${name}: { price: { input: ${PRICE.input}, output: ${PRICE.output} } }`).join(', ')} }
routes:
  auto: { targets: [{ model: one/m-one }, { model: two/m-two }] }
  cached: { cache: true, targets: [{ model: two/m-two }, { model: one/m-one }] }
  mix: { strategy: weighted, targets: [{ model: anth/m-anth, weight: ${1 + (reloads % 3)} }, { model: one/m-one }, { model: gem/m-gem }, { model: resp/m-resp }] }
resilience: { connect: 2s, stream_first_event: 4s, answer: 8s, idle: 4s, retries: 1, cooldown: ${reloads % 2 === 0 ? '3s' : '0s'} }
passthrough: [completions, moderations, files]
responses: { store: { enabled: true, key: $STORE } }
keys:
${KEY_NAMES.map((name) => `  - { name: ${name}, role: ${name === 'root' ? 'admin' : 'client'}, digest: "sha256:${createHash('sha256').update(keyOf(name, rotations[name])).digest('hex')}"${name === 'bob' ? `, budget: { usd: ${budget}, per: day }` : name === 'eve' ? `, rate: { requests: ${RATE.requests}, per: ${RATE.perMs / 1000}s }` : ''} }`).join('\n')}
`

export const MANNERS = [
  'reads',
  'leaves',
  'leaves at the start',
  'stalls',
  'sends half',
  'sends slowly',
  'closes its side',
  'pipelines',
  'uses an old key',
] as const

/** Requests other than calls in chat, messages, responses and gemini. */
export const ASKS = [
  'completions',
  'moderations',
  'list',
  'upload',
  'continue',
  'socket',
  'embeddings',
] as const
type Ask = (typeof ASKS)[number]

/** A call of a client. */
export interface CallEvent {
  readonly kind: 'call'
  /** Null for a call in the dialect. `continue` continues an earlier response of some key, and `socket` is a message over a WebSocket. */
  readonly ask: Ask | null
  readonly key: KeyName
  readonly dialect: SimulatedDialect
  readonly model: string
  readonly stream: boolean
  /** Words of the prompt. */
  readonly size: number
  readonly client: (typeof MANNERS)[number]
  /** True if the client repeats an earlier request, whose answer was whole, with all of its bytes. */
  readonly again: boolean
  /** Number of such calls at once. */
  readonly times: number
  /** Ways in which the providers answer the attempts, in their order; then rightly. */
  readonly deeds: readonly Deed[]
  readonly n: number
  /** Turns of the event loop that follow. */
  readonly turns: number
}

/** Prompts of a call. */
const promptsOf = ({ ask, n }: CallEvent): number => (ask === 'completions' ? 1 + (n % 20) : 1)

/** Tokens that a provider reports for a call; null for calls whose answers have no usage. */
export function usageOf(event: CallEvent): { readonly input: number; readonly output: number } | null {
  const prompts = promptsOf(event)
  if (event.ask === 'embeddings') return { input: TOKENS.input, output: 0 }
  if (['list', 'upload', 'moderations'].includes(event.ask ?? '')) return null
  return { input: prompts * TOKENS.input, output: prompts * TOKENS.output }
}

/** Returns the amount that is set aside for a call at least, in US dollars. */
export const asideOf = (event: CallEvent): number =>
  event.ask === 'embeddings' ? 0 : (promptsOf(event) * MAX_TOKENS * PRICE.output) / 1e6

/** Headers that no message may set. */
const ODD_HEADERS = ['trailer', 'host', 'transfer_encoding', 'content_length', 'authorization', 'upgrade']

interface ClientRequest {
  readonly method?: 'GET'
  readonly path: string
  readonly type?: string
  readonly body: string
}

/** Returns a call. `previous`: id of the response that it continues. */
export function requestOf(event: CallEvent, nonce: string, previous: string | undefined): ClientRequest {
  const { ask, model, size, stream } = event
  const content = `ask ${nonce} ${'word '.repeat(size)}`
  switch (ask) {
    case null:
      return requestIn(event, content)
    case 'continue':
      return {
        path: '/v1/responses',
        body: JSON.stringify({
          ...{ model, input: content, stream, max_output_tokens: MAX_TOKENS },
          ...(previous !== undefined && { previous_response_id: previous }),
        }),
      }
    case 'completions':
      return {
        path: '/v1/completions',
        body: JSON.stringify({
          ...{ model: 'one/m-one', prompt: Array.from({ length: promptsOf(event) }, () => `ask ${nonce}`) },
          max_tokens: MAX_TOKENS,
        }),
      }
    case 'embeddings':
      return { path: '/v1/embeddings', body: JSON.stringify({ model: 'one/m-one', input: content }) }
    case 'moderations':
      return { path: '/v1/moderations', body: JSON.stringify({ model: 'one/m-one', input: content }) }
    case 'socket':
      return {
        path: '/v1/responses',
        body: JSON.stringify({
          ...{ type: 'response.create', stream_id: nonce, model, input: content, store: false },
          max_output_tokens: MAX_TOKENS,
          client_metadata: {
            ws_request_header_x_gateway_session_id: nonce,
            [`ws_request_header_${ODD_HEADERS[event.n % ODD_HEADERS.length]}`]: 'odd',
          },
        }),
      }
    case 'list':
      return { method: 'GET', path: `/v1/files?after=${nonce}`, body: '' }
    case 'upload':
      return {
        path: '/v1/files',
        type: 'multipart/form-data; boundary=b',
        body: `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="f.txt"\r\ncontent-type: text/plain\r\n\r\n${content}\r\n--b--\r\n`,
      }
  }
}

function requestIn({ dialect, model, stream, n }: CallEvent, content: string): ClientRequest {
  const messages = [{ role: 'user', content }]
  switch (dialect) {
    case 'chat':
      return {
        path: '/v1/chat/completions',
        body: JSON.stringify({ model, messages, stream, max_tokens: MAX_TOKENS }),
      }
    case 'messages':
      return {
        path: '/v1/messages',
        body: JSON.stringify({ model, messages, stream, max_tokens: MAX_TOKENS }),
      }
    case 'responses':
      return {
        path: '/v1/responses',
        body: JSON.stringify({
          model,
          input: content,
          stream,
          store: n % 2 === 0,
          max_output_tokens: MAX_TOKENS,
        }),
      }
    case 'gemini':
      return {
        path: `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
        body: JSON.stringify({
          contents: [{ role: 'user', parts: [{ text: content }] }],
          generationConfig: { maxOutputTokens: MAX_TOKENS },
        }),
      }
  }
}

const [TEXT, CLOSE, PING, PONG] = [1, 8, 9, 10]
/** Messages of one client's socket; a gateway allows 32 lanes, and each has its own. */
const MAX_ASKED = 24

export class ClientSocket implements FarListener {
  readonly far: FarEnd
  readonly key: CallEvent['key']
  /** The key in the handshake. */
  readonly secret: string
  asked = 0
  #isOpen = false
  #bytes: Buffer = Buffer.alloc(0)
  /** Work that waits for the handshake. */
  #waiting: (() => void)[] = []
  readonly #heard: (message: string) => void
  readonly #gone: () => void

  constructor(
    far: FarEnd,
    key: CallEvent['key'],
    secret: string,
    heard: (message: string) => void,
    gone: () => void,
  ) {
    this.far = far
    this.key = key
    this.secret = secret
    this.#heard = heard
    this.#gone = gone
  }

  get hasRoom(): boolean {
    return this.far.isOpen && !this.far.isStalled && this.asked < MAX_ASKED
  }

  /** Sends a message some times. */
  send(text: string, times = 1): void {
    const one = frame(TEXT, Buffer.from(text))
    const bytes = Buffer.concat(Array.from({ length: times }, () => one))
    this.whenOpen(() => this.far.send(bytes))
  }

  whenOpen(work: () => void): void {
    if (this.#isOpen) work()
    else this.#waiting.push(work)
  }

  data(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    if (!this.#isOpen) this.#open()
    while (this.#isOpen && this.#next());
  }

  #open(): void {
    const end = this.#bytes.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!this.#bytes.subarray(0, end).toString('latin1').startsWith('HTTP/1.1 101 ')) {
      this.far.cut(false)
      return
    }
    this.#isOpen = true
    this.#bytes = this.#bytes.subarray(end + 4)
    for (const work of this.#waiting.splice(0)) work()
  }

  /** Reads the next frame, if all of it has arrived. */
  #next(): boolean {
    const bytes = this.#bytes
    if (bytes.length < 2) return false
    const short = bytes[1]! & 127
    const head = short === 127 ? 10 : short === 126 ? 4 : 2
    if (bytes.length < head) return false
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
    if (bytes.length < head + length) return false
    this.#bytes = bytes.subarray(head + length)
    const content = bytes.subarray(head, head + length)
    const kind = bytes[0]! & 15
    if (kind === TEXT) this.#heard(content.toString())
    else if (kind === PING) this.far.send(frame(PONG, content))
    else if (kind === CLOSE) {
      this.far.send(frame(CLOSE, content))
      this.far.cut(false)
    }
    return true
  }

  end(): void {
    this.far.cut(false)
  }

  gone(): void {
    this.#gone()
  }
}

/** Returns a frame as clients send it, with a mask of zeros. */
function frame(kind: number, content: Buffer): Buffer {
  const { length } = content
  const size =
    length < 126
      ? [128 | length]
      : length < 2 ** 16
        ? [254, length >> 8, length & 255]
        : [255, 0, 0, 0, 0, length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255]
  return Buffer.concat([Buffer.from([128 | kind, ...size, 0, 0, 0, 0]), content])
}
