// Passes WebSockets through the hooks of a must-fail gateway. The hooks see a client's message as an HTTP
// request, and a gateway's message as an event of a stream. If a hook answers a message with a status of 1000
// or above, the connection is closed with this code.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import type { GatewayHooks, HookContext, ResponseStart, Wanted } from './wire.ts'

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
  const send = (event: string) => {
    const data = /^data: (.*)$/m.exec(event)?.[1]
    if (data !== undefined) client.send(data)
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
