// Passes bytes through the hooks of a must-fail gateway: between client and gateway, and between gateway and
// providers. Knows HTTP and the places of the hooks; independent of the single hooks.
import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'

/** Client's request on its way to the gateway. */
export interface Wanted {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Status and headers of an answer on their way to the client. */
export interface ResponseStart {
  status: number
  headers: IncomingHttpHeaders
}

/** Maximum announced length of a body for which the hooks wait, bytes. */
const LONG_BODY_BYTES = 64 * 2 ** 20

/** Proxy between the gateway and its providers. */
export async function startBetween(
  provider: string,
  hooks: NonNullable<GatewayHooks['upstream']>,
  context: () => HookContext,
) {
  const server = createServer(async (request, response) => {
    try {
      const wanted = await read(request)
      await hooks.request?.(wanted, context())
      const upstream = open(provider, wanted)
      response.on('close', () => upstream.destroy())
      const [incoming] = (await once(upstream, 'response')) as [IncomingMessage]
      const head: ResponseStart = { status: incoming.statusCode!, headers: { ...incoming.headers } }
      hooks.responseStart?.(head, context())
      response.writeHead(head.status, head.headers)
      response.flushHeaders()
      for await (const piece of incoming) {
        const out = hooks.chunk?.(piece as Buffer) ?? (piece as Buffer)
        if (!response.write(out)) await drained(response)
      }
      response.end()
    } catch {
      response.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((done) => {
    const go = () => {
      response.off('drain', go).off('close', go)
      done()
    }
    response.on('drain', go).on('close', go)
  })
}

async function read(request: IncomingMessage): Promise<Wanted> {
  const pieces: Buffer[] = []
  // Does not wait for a body that is announced as this long, because the gateway must refuse it.
  const long = Number(request.headers['content-length'] ?? 0) > LONG_BODY_BYTES
  if (!long) for await (const piece of request) pieces.push(piece as Buffer)
  return {
    method: request.method!,
    path: request.url!,
    headers: { ...request.headers },
    body: Buffer.concat(pieces),
  }
}

/** Passes a request to the gateway and its answer back, through the hooks. */
export async function pass(
  request: IncomingMessage,
  response: ServerResponse,
  hooks: GatewayHooks,
  context: HookContext,
  url: string,
): Promise<void> {
  const wanted = await read(request)
  const instead = await hooks.request?.(wanted, context)
  if (instead) {
    response.writeHead(instead.status, instead.headers).end(instead.body)
    return
  }
  const upstream = open(url, wanted)
  if (!hooks.ignoresLeaving) response.on('close', () => upstream.destroy())
  const [incoming] = (await once(upstream, 'response')) as [IncomingMessage]
  const head: ResponseStart = { status: incoming.statusCode!, headers: { ...incoming.headers } }
  hooks.responseStart?.(head, wanted, context)
  const streamed = /event-stream/.test(incoming.headers['content-type'] ?? '')
  if (streamed) await passStream(incoming, response, head, wanted, hooks, context)
  else await passWhole(incoming, response, head, wanted, hooks, context)
}

async function passWhole(
  incoming: IncomingMessage,
  response: ServerResponse,
  head: ResponseStart,
  wanted: Wanted,
  hooks: GatewayHooks,
  context: HookContext,
): Promise<void> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  const whole = Buffer.concat(pieces)
  const body = hooks.body ? Buffer.from(await hooks.body(whole.toString('utf8'), wanted, context)) : whole
  if (wanted.method !== 'HEAD' && head.headers['content-length'] !== undefined)
    head.headers['content-length'] = String(body.length)
  response.writeHead(head.status, head.headers).end(body)
}

async function passStream(
  incoming: IncomingMessage,
  response: ServerResponse,
  head: ResponseStart,
  wanted: Wanted,
  hooks: GatewayHooks,
  context: HookContext,
): Promise<void> {
  response.writeHead(head.status, head.headers)
  response.flushHeaders()
  const write = async (text: string | Buffer) => {
    if (!response.write(text) && !hooks.ignoresSlowness && !response.destroyed) await drained(response)
  }
  let index = 0
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const piece of incoming) {
      if (!hooks.event) {
        await write(piece as Buffer)
        continue
      }
      rest += decoder.decode(piece as Buffer, { stream: true })
      const parts = rest.split(/(?<=\r?\n\r?\n)/)
      rest = /\n\r?\n$/.test(parts.at(-1)!) ? '' : parts.pop()!
      for (const event of parts)
        for (const out of await hooks.event(event, index++, wanted, context)) await write(out)
    }
  } catch (cut) {
    if (!hooks.hidesCuts && !hooks.cut) throw cut
    await write((await hooks.cut?.(wanted, context)) ?? 'data: [DONE]\n\n')
  }
  if (rest) await write(rest)
  response.end()
}

function open(url: string, { method, path, headers, body }: Wanted) {
  const { hostname, port } = new URL(url)
  const { 'transfer-encoding': _, ...rest } = headers
  const sent = {
    ...rest,
    ...(body.length > 0 && { 'content-length': String(body.length) }),
  }
  const request = httpRequest({ hostname, port, method, path, headers: sent, agent: false })
  request.on('error', () => {})
  request.end(body)
  return request
}

/** Sends a request to the gateway and reads its whole answer. */
export async function forward(url: string, wanted: Wanted): Promise<ResponseStart & { body: string }> {
  const [incoming] = (await once(open(url, wanted), 'response')) as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  return {
    status: incoming.statusCode!,
    headers: incoming.headers,
    body: Buffer.concat(pieces).toString('utf8'),
  }
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that changes nothing returns nothing
type MaybeAnswer = (ResponseStart & { body: string }) | undefined | void

/** Actions and facts that a hook can use. */
export interface HookContext {
  /** Makes an inference at the mock that no client asked for, with the gateway's own provider key. */
  spend(more?: object): Promise<unknown>
  /** Requests the mock's models. */
  list(): Promise<unknown>
  /** Sends a request to its provider; for hooks between the provider and the gateway. */
  provider(wanted: Wanted): Promise<ResponseStart & { body: string }>
  /** Sends a request directly to the gateway behind the hooks. */
  gateway(wanted: Wanted): Promise<ResponseStart & { body: string }>
  /** Number of earlier requests. */
  readonly count: number
  /** Environment of the gateway, with its provider keys. */
  readonly env: Readonly<Record<string, string>>
  readonly directory: string
}

/** Hooks: each may change its input; parts without a hook stay unchanged. */
export interface GatewayHooks {
  /** Called before the gateway; a returned answer replaces the gateway's answer. */
  request?(wanted: Wanted, context: HookContext): MaybeAnswer | Promise<MaybeAnswer>
  responseStart?(start: ResponseStart, wanted: Wanted, context: HookContext): void
  /** Changes whole answers. */
  body?(body: string, wanted: Wanted, context: HookContext): string | Promise<string>
  /** Changes streams, event by event, including the blank line; the returned list may have any length. */
  event?(
    event: string,
    index: number,
    wanted: Wanted,
    context: HookContext,
  ): readonly string[] | Promise<readonly string[]>
  /** Returns the bytes to send after a stream was cut. */
  cut?(wanted: Wanted, context: HookContext): Promise<string>
  /**
   * Returns the configuration that replaces the gateway's file; the gateway then does not see changes of the
   * file.
   */
  config?(text: string): string
  /** Changes the gateway's data directory before each start. */
  before?(data: string): void
  /** Called once after the gateway's start. */
  started?(context: HookContext): void
  /** Called before the gateway ends; `cut` breaks all connections. */
  stopping?(cut: () => void): void | Promise<void>
  /** True if the gateway does not notice that a client leaves. */
  readonly ignoresLeaving?: boolean
  /** True if the provider is read at full speed, even if the client reads slowly. */
  readonly ignoresSlowness?: boolean
  /** Changes between the gateway and its providers: bytes of an answer as they arrive, or the request. */
  upstream?: {
    request?(wanted: Wanted, context: HookContext): void | Promise<void>
    responseStart?(start: ResponseStart, context: HookContext): void
    chunk?(bytes: Buffer): Buffer | string
  }
  /** True if a broken answer ends normally for the gateway. */
  readonly hidesCuts?: boolean
}

const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false })

/** Headers that the handshake itself writes. */
const OF_THE_HANDSHAKE = /^(connection|upgrade|sec-websocket-(version|key|extensions|accept))$/

/** Passes an upgrade to the gateway, and afterwards the messages of both sides. */
export async function passSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  hooks: GatewayHooks,
  context: HookContext,
  url: string,
): Promise<void> {
  socket.on('error', () => socket.destroy())
  const wanted: Wanted = {
    method: 'GET',
    path: request.url!,
    headers: request.headers,
    body: Buffer.alloc(0),
  }
  const instead = await hooks.request?.(wanted, context)
  if (instead) {
    refuse(socket, instead, instead.body)
    return
  }
  const kept = Object.entries(wanted.headers).filter(([name]) => !OF_THE_HANDSHAKE.test(name))
  const upstream = new WebSocket(url.replace(/^http/, 'ws') + wanted.path, {
    ...{ headers: Object.fromEntries(kept), perMessageDeflate: false },
  })
  upstream.on('error', () => socket.destroy())
  upstream.on('unexpected-response', async (_, response) => {
    const pieces = await response.toArray()
    const start = { status: response.statusCode!, headers: { ...response.headers } }
    hooks.responseStart?.(start, wanted, context)
    refuse(socket, start, Buffer.concat(pieces).toString())
  })
  // Listens before the gateway can send its first message.
  upstream.once('open', () => upstream.pause())
  await once(upstream, 'open')
  server.handleUpgrade(request, socket, head, (client) => {
    passMessages(client, upstream, wanted, hooks, context)
    upstream.resume()
  })
}

function refuse(socket: Duplex, { status, headers }: ResponseStart, body: string): void {
  const { 'transfer-encoding': _, ...rest } = headers
  const written = { ...rest, connection: 'close', 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(written).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status} -\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

function passMessages(
  client: WebSocket,
  gateway: WebSocket,
  { path, headers }: Wanted,
  hooks: GatewayHooks,
  context: HookContext,
): void {
  let call: Wanted = { method: 'POST', path, headers, body: Buffer.alloc(0) }
  let index = 0
  const send = (events: string) => {
    for (const [, data] of events.matchAll(/^data: (.*)$/gm)) client.send(data!)
  }
  client.on('message', async (data, isBinary) => {
    call = { ...call, body: Buffer.from(data as Buffer) }
    index = 0
    const instead = await hooks.request?.(call, context)
    if (instead && instead.status >= 1_000) client.close(instead.status, instead.body)
    else if (instead)
      send(`data: ${JSON.stringify({ type: 'error', status: instead.status, ...JSON.parse(instead.body) })}`)
    else if (call.body.length > 0) gateway.send(call.body, { binary: isBinary })
  })
  // Passes messages one after the other, as in a stream.
  let turn = Promise.resolve()
  gateway.on('message', (data) => {
    const text = String(data)
    const { type } = JSON.parse(text) as { readonly type?: string }
    turn = turn.then(async () => {
      const event = `event: ${type}\ndata: ${text}\n\n`
      for (const out of hooks.event ? await hooks.event(event, index++, call, context) : [event]) send(out)
    })
  })
  client.on('close', () => gateway.terminate())
  gateway.on('close', (code, reason) => void turn.then(() => close(client, code, reason)))
  for (const side of [client, gateway]) side.on('error', () => side.terminate())
}

/** Codes 1004 to 1006 mean that a connection was cut, and cannot be sent. */
function close(client: WebSocket, code: number, reason: Buffer): void {
  if (code >= 1004 && code <= 1006) client.terminate()
  else client.close(code, reason)
}
