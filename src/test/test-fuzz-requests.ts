// Generates well-formed and malformed requests, and sends them over a socket. Checks no results. Over 250
// lines, because it lists many things that may go wrong.
import { connect } from 'node:net'
import fc from 'fast-check'
import { READS } from '../gateway/endpoints.ts'

const CHAT = '/v1/chat/completions'

/** Data sent over one connection. */
export interface Raw {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
  readonly framing: 'length' | 'chunked' | 'short' | 'long'
  /** Share of all bytes after which the client leaves, 0 to 1; null if it stays. */
  readonly leaves: number | null
  /** Number of answer bytes after which the client leaves; null if it reads the whole answer. */
  readonly stopsReading: number | null
  /** Number of pieces in which the bytes are sent. */
  readonly pieces: number
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const MODELS = [
  'auto',
  'pair',
  'alpha/a',
  'beta/b',
  'alpha/org/x',
  'nowhere',
  'alpha/',
  '/',
  '__proto__',
  'constructor',
]
const model = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...MODELS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => `alpha/${text}`) },
)
const valid = fc
  .record(
    {
      model,
      messages: fc.array(
        fc.record({ role: fc.constantFrom('user', 'system', 'odd'), content: fc.string({ unit: 'binary' }) }),
        { maxLength: 3 },
      ),
      stream: fc.constantFrom(true, false, null),
      stream_options: fc.constantFrom(null, {}, { include_usage: true }, { include_usage: false, x: 1 }),
      prompt_cache_key: fc.string({ unit: 'binary' }),
      metadata: fc.record({
        user_id: fc.oneof(fc.string(), fc.constant('{"session_id":"s"}'), fc.constant('{')),
      }),
      seed: fc.maxSafeInteger(),
    },
    { requiredKeys: ['model', 'messages'] },
  )
  .chain((body) =>
    fc
      .dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 2 })
      .map((more) => ({ ...more, ...body })),
  )
const mutated = fc
  .tuple(
    valid,
    fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map(([body, changes]) => {
    const bytes = json(body)
    for (const [where, byte] of changes) bytes[Math.floor(where * (bytes.length - 1))] = byte
    return bytes
  })
/** Written out, because JSON.stringify would correct them. */
const spelt = fc.constantFrom(
  '1e999',
  '-1e-999',
  '123456789012345678901234567890',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '1.0',
  'true,"model":"alpha/twice"',
  '{"__proto__":{"stream":true}}',
)
const strange = fc
  .tuple(fc.constantFrom('seed', 'model', 'messages', 'stream', 'stream_options', 'x'), spelt)
  .map(([name, text]) =>
    Buffer.from(`{"${name}":${text},"model":"auto","messages":[{"role":"user","content":"\\ud83d"}]}`),
  )
const deep = fc
  .tuple(
    fc.integer({ min: 1, max: 20_000 }),
    fc.constantFrom('messages', 'stream_options', 'x'),
    fc.boolean(),
  )
  .map(([depth, name, array]) => {
    const [open, close] = array ? ['[', ']'] : ['{"a":', '}']
    return Buffer.from(
      `{"model":"auto","${name}":${open!.repeat(depth)}1${close!.repeat(depth)},"messages":[]}`,
    )
  })
const body = fc.oneof(
  { weight: 8, arbitrary: valid.map(json) },
  { weight: 4, arbitrary: mutated },
  { weight: 2, arbitrary: strange },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.jsonValue().map(json) },
)

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,12}$/)
const fieldValue = fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,40}$/)
const header = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.constantFrom('x-session-id', 'x-claude-code-session-id', 'x-claude-code-agent-id', 'session_id'),
      fieldValue,
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      token.map((name) => `x-${name}`),
      fieldValue,
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<[string, string][]>(
      ['content-type', 'text/plain'],
      ['content-type', 'application/vnd.x+json; charset=utf-8'],
      ['content-encoding', 'gzip'],
      ['content-encoding', 'identity'],
      ['expect', '100-continue'],
      ['expect', 'miracles'],
      ['origin', 'http://evil.example'],
      ['authorization', 'Bearer nobody'],
      ['upgrade', 'websocket'],
      ['te', 'trailers'],
      ['cookie', 'a=b'],
      ['range', 'bytes=0-1'],
      ['accept-encoding', 'gzip'],
      ['x-big', 'y'.repeat(20_000)],
    ),
  },
)
const target = fc.oneof(
  { weight: 12, arbitrary: fc.constant(CHAT) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...READS.map(({ path }) => path.replace('*', 'x')), CHAT),
        fc.webQueryParameters(),
      )
      .map(([path, query]) => `${path}?${query}`),
  },
  { weight: 2, arbitrary: fc.stringMatching(/^\/[\x21-\x7e]{0,60}$/) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '*',
      'http://evil.example/v1/models',
      '/v1/models/%ff',
      '/v1/models/..%2f..',
      '//',
      '/%',
      `/${'x'.repeat(9_000)}`,
    ),
  },
)
const method = fc.oneof(
  { weight: 12, arbitrary: fc.constant('POST') },
  { weight: 4, arbitrary: fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE') },
  { weight: 1, arbitrary: fc.constantFrom('BREW', 'post', 'CONNECT', 'PROPFIND') },
)
/** Returns a value in one of eight cases, otherwise null. */
const seldom = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value })

export const raw: fc.Arbitrary<Raw> = fc.record({
  method,
  path: target,
  headers: fc.array(header, { maxLength: 3 }),
  body,
  framing: fc.oneof(
    { weight: 8, arbitrary: fc.constant<Raw['framing']>('length') },
    { weight: 4, arbitrary: fc.constant<Raw['framing']>('chunked') },
    { weight: 1, arbitrary: fc.constantFrom<Raw['framing']>('short', 'long') },
  ),
  leaves: seldom(fc.double({ min: 0, max: 1, noNaN: true })),
  stopsReading: seldom(fc.nat(600)),
  pieces: fc.integer({ min: 1, max: 4 }),
})

/** Sends a request. Returns all bytes of the answer, or null if the client left first. */
export function exchange(url: string, request: Raw): Promise<Buffer | null> {
  const { hostname, port, host } = new URL(url)
  const bytes = bytesOf(request, host)
  const end = request.leaves === null ? bytes.length : Math.floor(bytes.length * request.leaves)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    let size = 0
    let left = false
    const leave = () => {
      left = true
      socket.destroy()
    }
    const timer = setTimeout(() => {
      socket.destroy()
      reject(
        new Error(`no end of the answer within 15 s; so far: ${Buffer.concat(chunks).toString('latin1')}`),
      )
    }, 15_000)
    socket.on('data', (part) => {
      chunks.push(part)
      size += part.length
      if (request.stopsReading !== null && size > request.stopsReading) leave()
    })
    socket.on('error', () => {}) // the data received so far counts
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(left ? null : Buffer.concat(chunks))
    })
    const step = Math.max(1, Math.ceil(end / request.pieces))
    for (let at = 0; at < end; at += step) socket.write(bytes.subarray(at, Math.min(at + step, end)))
    if (request.leaves !== null) socket.write('', leave)
    // A body that is shorter than announced ends when its connection closes.
    else if (request.framing === 'short') socket.end()
  })
}

function bytesOf({ method, path, headers, body, framing }: Raw, host: string): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, 'connection: close']
  if (!headers.some(([name]) => name === 'content-type')) lines.push('content-type: application/json')
  for (const [name, value] of headers) lines.push(`${name}: ${value}`)
  if (framing === 'chunked') lines.push('transfer-encoding: chunked')
  else
    lines.push(
      `content-length: ${{ length: body.length, short: body.length + 50, long: Math.max(0, body.length - 5) }[framing]}`,
    )
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (framing !== 'chunked') return Buffer.concat([head, body])
  const half = body.length >> 1
  const parts = [body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0)
  const chunks = parts.flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([head, ...chunks, Buffer.from('0\r\n\r\n')])
}
