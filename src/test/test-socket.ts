// A client of the Responses API over a WebSocket, for tests.
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { type ClientOptions, WebSocket } from 'ws'

interface TestSocket {
  readonly ws: WebSocket
  send(message: unknown): void
  /** Returns the next message. */
  next(): Promise<any>
  /** Returns the messages until the end of a response. */
  response(message?: unknown): Promise<any[]>
  /** Resolves with the close code of the socket. */
  readonly closed: Promise<number>
}

const ENDS = /^(error|response\.(completed|incomplete|failed))$/

/** Opens a WebSocket at a gateway's `/v1/responses`. Rejects with the status of a refusal. */
export async function openSocket(
  t: TestContext,
  url: string,
  options: ClientOptions = {},
): Promise<TestSocket> {
  const ws = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/responses`, options)
  const refused = once(ws, 'unexpected-response').then(([request, response]) => {
    request.destroy()
    throw Object.assign(new Error(`refused with ${response.statusCode}`), { status: response.statusCode })
  })
  await Promise.race([once(ws, 'open'), refused])
  t.after(() => ws.terminate())
  const messages: unknown[] = []
  const takers: ((message: unknown) => void)[] = []
  ws.on('message', (data) => {
    const message = JSON.parse(String(data))
    const taker = takers.shift()
    if (taker) taker(message)
    else messages.push(message)
  })
  const socket: TestSocket = {
    ws,
    send: (message) => ws.send(typeof message === 'string' ? message : JSON.stringify(message)),
    next: () =>
      messages.length > 0 ? Promise.resolve(messages.shift()) : new Promise((taken) => takers.push(taken)),
    async response(message) {
      if (message !== undefined) socket.send(message)
      const events = []
      for (;;) {
        const event = await socket.next()
        events.push(event)
        if (ENDS.test(event.type)) return events
      }
    },
    closed: once(ws, 'close').then(([code]) => code as number),
  }
  return socket
}
