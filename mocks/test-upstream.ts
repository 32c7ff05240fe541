// Provider for tests: a real HTTP server on loopback that answers as the test says, even with bytes that are
// not HTTP, and records the requests. Unlike the mock, it has no recordings and validates nothing.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { event } from './provider.ts'

/** Complete inference request, as received. */
export interface Received {
  readonly method?: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** An empty object without a body. */
  readonly json: Record<string, unknown>
}

/** Answers one request. */
export type Script = (response: ServerResponse, received: Received) => void

export interface MockServer {
  /** Address for the `base_url` of an OpenAI-dialect provider. */
  readonly baseUrl: string
  readonly ledger: Received[]
  /** Script for later requests. */
  script: Script
  /** Requests with a connection that the client closed before the answer was complete. */
  readonly abandoned: number
  /** Called for every connection, used or not. */
  onConnection(listener: () => void): void
  close(): Promise<void>
}

/** Starts the provider on a free port of 127.0.0.1. */
export async function startMockServer(script: Script = answer()): Promise<MockServer> {
  const ledger: Received[] = []
  let abandoned = 0
  const server = createServer({ keepAliveTimeout: 300_000 }, async (request, response) => {
    response.on('close', () => {
      if (!response.writableEnded) abandoned++
    })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const { method, url, headers } = request
    const received = { method: method!, path: url!, headers, text, json: JSON.parse(text || '{}') }
    ledger.push(received)
    mock.script(response, received)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))

  const mock = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    ledger,
    script,
    get abandoned() {
      return abandoned
    },
    onConnection: (listener: () => void) => void server.on('connection', listener),
    close() {
      server.closeAllConnections()
      return new Promise<void>((done) => server.close(() => done()))
    },
  }
  return mock
}

export const USAGE = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 }

/** Returns a whole answer with this text. */
export const answer =
  (content = 'plain answer', usage: object | null = USAGE): Script =>
  (response, { json }) =>
    sendJson(response, 200, {
      id: 'chatcmpl-mock',
      object: 'chat.completion',
      created: 0,
      model: `${json.model}-2026-01-01`,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      ...(usage && { usage }),
    })

/** Returns an error in OpenAI's format. */
export const fail =
  (status: number, headers: Record<string, string> = {}, error: object = {}): Script =>
  (response) =>
    sendJson(
      response,
      status,
      {
        error: {
          message: `mock ${status}`,
          type: 'test_error',
          param: null,
          code: `e${status}`,
          ...error,
        },
      },
      headers,
    )

/** Sends bytes with pauses: a number waits that many ms, and a function is called with the response. */
export const stream =
  (...parts: (string | Buffer | number | ((response: ServerResponse) => void))[]): Script =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    for (const part of parts) {
      if (typeof part === 'number') await sleep(part, undefined, { ref: false })
      else if (typeof part === 'function') part(response)
      else if (!response.write(part)) await drained(response)
      if (response.destroyed) return
    }
    response.end()
  }

/** Resolves when the client has received the written bytes or has disconnected. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((done) => {
    const go = () => {
      response.off('drain', go).off('close', go)
      done()
    }
    response.on('drain', go).on('close', go)
  })
}

/** Returns a streamed answer in OpenAI's chunks; the last chunk is `usage` if the request asked for it. */
export const streamed =
  (...texts: string[]): Script =>
  (response, received) => {
    const wanted =
      (received.json.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true
    const model = `${received.json.model}-2026-01-01`
    const events = [
      chunk({ role: 'assistant', content: '' }, { model }),
      ...texts.map((content) => chunk({ content }, { model })),
      chunk({}, { model, finish_reason: 'stop' }),
    ]
    if (wanted) events.push(usageChunk({ model }))
    stream(...events, DONE)(response, received)
  }

/** Returns one event of an OpenAI chat stream. */
export function chunk(delta: object, { model = 'm', finish_reason = null as string | null } = {}): string {
  return event({
    id: 'chatcmpl-mock',
    object: 'chat.completion.chunk',
    created: 0,
    model,
    choices: [{ index: 0, delta, finish_reason }],
  })
}

export const usageChunk = ({ model = 'm', usage = USAGE as object } = {}): string =>
  event({ id: 'chatcmpl-mock', object: 'chat.completion.chunk', created: 0, model, choices: [], usage })

export { event }
export const DONE = event('[DONE]')

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
