// Conversations and answers over WebSockets that are much larger in memory than on the wire. The real program has a
// small heap and must survive each of them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { drained } from '../../mocks/test-upstream.ts'
import { MIB } from './test-answers.ts'
import { sample } from './test-size.ts'
import { startSmallHeap } from './test-small-heap.ts'
import { openSocket } from './test-socket.ts'
import { until } from './test-until.ts'

/** Heap limit of the gateway, MB. */
const HEAP = 192
const EVENTS = 800

const headers = { authorization: 'Bearer key-of-ann' }

test('warm-ups with many small items, each of which continues the one before, do not fill the memory', async (t) => {
  const gateway = await startSmallHeap(t, HEAP)
  const { response } = await openSocket(t, gateway.url, { headers })
  const input = Array(100_000).fill({})
  let previous_response_id: string | null = null
  for (let n = 0; n < 60; n++) {
    const create = { type: 'response.create', generate: false, model: 'auto', input, previous_response_id }
    const [event] = await response(create)
    // A conversation that was forgotten is an ordinary response, which is refused.
    previous_response_id = event.type === 'response.created' ? event.response.id : null
  }
  assert.equal(gateway.exited(), null, gateway.said())
  assert.equal((await gateway.call('bob')).status, 200)
})

/** Begins an answer, and makes each of its parts from `item`. */
const begin = { type: 'response.created', response: { id: 'resp_1', object: 'response', store: false } }
const end = { type: 'response.completed', response: { ...begin.response, status: 'completed', output: [] } }
/** Node keeps texts of more than a MB outside of the heap. */
const LARGE = 'y'.repeat(MIB / 2)
const PARTS: Readonly<Record<string, object>> = {
  'large items': { item: { type: 'message', id: 'a message', text: LARGE } },
  'small items in large events': { item: { type: 'message', id: 'a message' }, also: LARGE },
}

/** Starts a provider of answers with many parts, over a WebSocket and over HTTP. */
async function startProvider(t: TestContext, part: object) {
  const provider = { overSocket: 0, base: '' }
  const event = (n: number) => JSON.stringify({ type: 'response.output_item.done', output_index: n, ...part })
  const stream = async (request: IncomingMessage, response: ServerResponse) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify(begin)}\n\n`)
    for (let n = 0; n < EVENTS && !response.destroyed; n++)
      if (!response.write(`data: ${event(n)}\n\n`)) await drained(response)
    response.end(`data: ${JSON.stringify(end)}\n\n`)
  }
  const talk = async (ws: WebSocket) => {
    ws.send(JSON.stringify(begin))
    for (let n = 0; n < EVENTS && ws.readyState === ws.OPEN; n++)
      await new Promise((sent) => ws.send(event(n), sent))
    ws.send(JSON.stringify(end))
  }
  const server = createServer((request, response) => void stream(request, response).catch(() => {}))
  new WebSocketServer({ server }).on('connection', (ws) => {
    ws.on('error', () => {})
    ws.on('message', () => {
      provider.overSocket++
      void talk(ws)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  provider.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return provider
}

for (const [what, part] of Object.entries(PARTS))
  for (const from of sample(['HTTP', 'a WebSocket'], 2))
    test(`a response with many ${what} from a provider over ${from} does not fill the memory`, async (t) => {
      const provider = await startProvider(t, part)
      const gateway = await startSmallHeap(
        t,
        HEAP,
        '',
        `  many: { dialect: responses, base_url: "${provider.base}", websocket: ${from === 'HTTP' ? 'off' : 'on'} }`,
      )
      const body = { model: 'many/m', input: 'x', store: false, stream: true }
      if (from === 'HTTP') {
        // The client's socket keeps the conversation.
        const socket = await openSocket(t, gateway.url, { headers })
        socket.send({ type: 'response.create', ...body })
        await until('the response is over', async () => {
          const { type } = await socket.next()
          return /^(error|response\.(completed|failed))$/.test(type) || undefined
        })
      } else {
        const response = await fetch(`${gateway.url}/v1/responses`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        let bytes = 0
        for await (const chunk of response.body!) bytes += chunk.length
        assert.ok(bytes > EVENTS * LARGE.length)
        assert.equal(provider.overSocket, 1)
      }
      assert.equal(gateway.exited(), null, gateway.said())
      assert.equal((await gateway.call('bob')).status, 200)
    })
