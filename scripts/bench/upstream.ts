// The provider of the benchmark: a bare node:http server that answers at once. Knows two answers: about 1 kB of
// JSON, and a stream as the prompt orders it, whose events carry the moment at which they were sent.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const USAGE = { prompt_tokens: 280, completion_tokens: 160, total_tokens: 440 }
const ANSWER = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 0,
  model: 'bench-model-2026-01-01',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'All is well. '.repeat(55) }, finish_reason: 'stop' },
  ],
  usage: USAGE,
})

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const order = /stream (\d+) events (\d+) ms apart/.exec(Buffer.concat(chunks).toString('latin1'))
    if (order) return stream(response, Number(order[1]), Number(order[2]))
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(ANSWER) }
    response.writeHead(200, headers).end(ANSWER)
  })
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`))

async function stream(response: ServerResponse, events: number, gap: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let event = 0; event < events; event++) {
    if (gap > 0 && event > 0) await sleep(gap)
    // The monotonic clock is the same one in every process of a machine.
    const room = response.write(chunk({ content: `sent=${process.hrtime.bigint()};` }, null))
    if (!room) await once(response, 'drain') // for ever, where the client has gone
  }
  response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
}

function chunk(delta: object, finish_reason: 'stop' | null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }]
  const head = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 0, model: 'bench-model' }
  return `data: ${JSON.stringify({ ...head, service_tier: 'default', choices })}\n\n`
}
