// Sends one message over its own WebSocket, and records the answer like a stream over HTTP, with each message
// as an event. Knows how responses end; independent of checks.
import { existsSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { rootCertificates } from 'node:tls'
import { WebSocket } from 'ws'
import { after, stray } from '../../src/shared/boundary.ts'
import { clock } from '../../src/shared/clock.ts'
import type { Exchange } from './evidence.ts'
import { type ByteBudget, flatten, MAX_BODY, type Outgoing, type Seen } from './http-client.ts'
import { type AnyJson, jsonOf } from './reading.ts'

/** Messages that end a response. */
const LAST_EVENTS = /^(error|response\.(completed|incomplete|failed))$/

interface SocketOptions {
  /** File with a certificate authority to trust in addition to the default ones. */
  readonly ca?: string | undefined
  /** Budget shared with other answers; the answer that exhausts it ends as `too_long`. */
  readonly budget: ByteBudget
}

/** Sends the body as a message. Resolves at the end of the response or the connection, or after `timeout` ms. */
export function sendMessage(
  baseUrl: string,
  { path, headers, body }: Pick<Outgoing, 'path' | 'headers' | 'body'>,
  timeout: number,
  { ca, budget }: SocketOptions,
): Promise<Seen> {
  const { promise, resolve } = Promise.withResolvers<Seen>()
  const at = clock.monotonic()
  const chunks: [number, number][] = []
  let [text, left] = ['', MAX_BODY]
  let headAt: number | null = null
  let answer: IncomingMessage | null = null
  let end: Exchange['end'] | null = null

  const socket = new WebSocket(baseUrl.replace(/^http/, 'ws').replace(/\/+$/, '') + path, {
    ...{ headers, maxPayload: MAX_BODY, perMessageDeflate: false, handshakeTimeout: timeout },
    ...(ca !== undefined && existsSync(ca) && { ca: [...rootCertificates, readFileSync(ca, 'utf8')] }),
  })
  function finish(how: Exchange['end'], error: string | null = null): void {
    if (end !== null) return
    end = how
    timer.close()
    socket.terminate()
    const { statusCode: status = null } = answer ?? {}
    const seen = { at, head_at: headAt, end_at: clock.monotonic(), end, error, status }
    resolve({ ...seen, headers: answer ? flatten(answer) : {}, body: text, utf8: true, chunks })
  }
  const timer = after(timeout, () => finish('timed_out', `no end within ${timeout} ms`), stray)

  socket.on('upgrade', (response) => {
    headAt = clock.monotonic()
    answer = response
  })
  socket.on('unexpected-response', (_, response) => {
    headAt = clock.monotonic()
    answer = response
    finish('complete')
  })
  socket.on('open', () => socket.send(body ?? ''))
  socket.on('message', (data) => {
    const message = String(data)
    left -= message.length
    budget.left -= message.length
    if (left < 0 || budget.left < 0) return finish('too_long', 'the messages together are too long')
    chunks.push([message.length, clock.monotonic()])
    text += `data: ${message.replaceAll('\n', '\ndata: ')}\n\n`
    if (LAST_EVENTS.test(String((jsonOf(message) as AnyJson | null)?.type))) finish('complete')
  })
  socket.on('close', (code, reason) => finish('cut', `closed with ${code} ${reason}`.trim()))
  socket.on('error', ({ message }) => finish(answer ? 'cut' : 'refused', message))
  return promise
}
