// Provider of the benchmark: a bare node:http server that answers immediately, in the chat or Messages
// dialect. It has two answers: about 1 kB of JSON, and a stream with the number of events and pauses in the
// prompt. The events contain their time of sending.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const TEXT = 'All is well. '.repeat(55)
const MODEL = 'bench-model-2026-01-01'

interface Speech {
  readonly answer: string
  readonly begin: string
  readonly event: (text: string) => string
  readonly end: string
}

const chunk = (delta: object, finish_reason: 'stop' | null): string => {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }]
  const head = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 0, model: 'bench-model' }
  return `data: ${JSON.stringify({ ...head, service_tier: 'default', choices })}\n\n`
}
const CHAT: Speech = {
  answer: JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 0,
    model: MODEL,
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 280, completion_tokens: 160, total_tokens: 440 },
  }),
  begin: '',
  event: (content) => chunk({ content }, null),
  end: `${chunk({}, 'stop')}data: [DONE]\n\n`,
}

const named = (event: { readonly type: string } & Record<string, unknown>): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const usage = { input_tokens: 280, output_tokens: 160 }
const message = { id: 'msg_bench', type: 'message', role: 'assistant', model: MODEL, stop_sequence: null }
const MESSAGES: Speech = {
  answer: JSON.stringify({
    ...message,
    content: [{ type: 'text', text: TEXT }],
    stop_reason: 'end_turn',
    usage,
  }),
  begin:
    named({ type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } }) +
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  event: (text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  end:
    named({ type: 'content_block_stop', index: 0 }) +
    named({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }) +
    named({ type: 'message_stop' }),
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const order = /stream (\d+) events (\d+) ms apart/.exec(Buffer.concat(chunks).toString('latin1'))
    const speech = request.url!.includes('/messages') ? MESSAGES : CHAT
    if (order) return stream(speech, response, Number(order[1]), Number(order[2]))
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(speech.answer) }
    response.writeHead(200, headers).end(speech.answer)
  })
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`))

async function stream(speech: Speech, response: ServerResponse, events: number, gap: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (speech.begin !== '') response.write(speech.begin)
  for (let event = 0; event < events; event++) {
    if (gap > 0 && event > 0) await sleep(gap)
    // All processes of a machine share the monotonic clock.
    const room = response.write(speech.event(`sent=${process.hrtime.bigint()};`))
    if (!room) await once(response, 'drain') // waits forever if the client has left
  }
  response.end(speech.end)
}
