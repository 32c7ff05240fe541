// Correct model server for the tests of profile `server`. Its model is a list of words, and it obeys limits,
// stop strings, forced tools and schemas. It counts its requests. `faults` give it one mistake.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type AnyJson, jsonOf } from '../evidence/reading.ts'
import type { InProcess } from '../target/local.ts'
import { type Target, targetSchema } from '../target/schema.ts'

/** Parts of one answer, in any dialect. A fault changes these parts, or the events and bodies made from them. */
interface ModelAnswer {
  words: string[]
  /** Arguments of the forced tool; null without one. */
  tool: { id: string; name: string; arguments: string } | null
  /** Finish reason in chat's words. */
  reason: string
  input: number
  output: number
}

interface ServerFaults {
  readonly said?: (said: ModelAnswer, body: AnyJson) => void
  readonly body?: (json: AnyJson, path: string) => unknown
  /** Changes each event of a stream as it is written. */
  readonly events?: (events: string[], path: string) => string[]
  readonly error?: (status: number, message: string) => { status: number; body: unknown }
  /** Returns a status with which every request is refused; null to answer it. */
  readonly instead?: (path: string, text: string) => number | null
  readonly takesAnyModel?: boolean
  readonly cutsPrompts?: boolean
  readonly contentType?: string
}

interface ModelServer {
  readonly url: string
  /** Requests for an inference, with their token limits and their generated tokens. */
  readonly seen: { calls: number; allowed: number; input: number; output: number }
  close(): Promise<void>
}

export const SERVED_MODEL = 'words-1'
const WINDOW = 2_000
const WORDS = Array.from({ length: 400 }, (_, index) => (index % 2 === 0 ? 'go' : 'there'))
const FORM = '{"city":"Oslo","days":1}'

const tokensOf = (text: string): number => Math.ceil(text.length / 4)

class Refusal extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const LIMITS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'max_tokens',
  '/v1/messages': 'max_tokens',
  '/v1/responses': 'max_output_tokens',
}

const errorIn = (path: string, message: string): unknown => {
  const error = { type: 'invalid_request_error', message }
  return path === '/v1/messages' ? { type: 'error', error } : { error }
}

/** Returns the start function of a model server in this process, on the port in its target file. */
export const modelServer =
  (faults: ServerFaults | (() => ServerFaults) = {}): InProcess['start'] =>
  async (directory) => {
    const port = Number(readFileSync(join(directory, 'port'), 'utf8'))
    return startModelServer(typeof faults === 'function' ? faults() : faults, port)
  }

/** Returns the target file of a model server. */
export const serverTarget = (name: string): Target =>
  targetSchema.parse({
    name,
    start: { inproc: `selftest/start#${name}` },
    files: { port: '{{port}}' },
    providers: {},
    models: { call: SERVED_MODEL },
    dialects: { messages: {}, responses: {}, embeddings: {} },
    capabilities: { catalog: '/v1/models', window: WINDOW },
  })

/** Starts the server on a free port of this machine, or on `port`. */
export async function startModelServer(faults: ServerFaults = {}, port = 0): Promise<ModelServer> {
  const seen = { calls: 0, allowed: 0, input: 0, output: 0 }
  const server = createServer(async (request, response) => {
    const path = new URL(request.url!, 'http://local').pathname
    const text = await bodyOf(request)
    if (request.method === 'POST') seen.calls++
    try {
      const status = faults.instead?.(path, text)
      if (status) throw new Refusal(status, 'not now')
      if (path === '/v1/models') return send(response, 200, faults.body?.(LIST, path) ?? LIST)
      const body = readRequest(path, text, faults)
      if (path === '/v1/embeddings') {
        const whole = vectors(body)
        seen.input += whole.usage.prompt_tokens
        return send(response, 200, faults.body?.(whole, path) ?? whole)
      }
      const limit: number = body[LIMITS[path]!] ?? 1_000
      seen.allowed += limit
      const said = say(body, limit)
      faults.said?.(said, body)
      seen.input += said.input
      seen.output += said.output
      if (!body.stream) {
        const whole = WHOLE[path]!(said)
        return send(response, 200, faults.body?.(whole, path) ?? whole, faults.contentType)
      }
      const events = EVENTS[path]!(said)
      response.writeHead(200, { 'content-type': faults.contentType ?? 'text/event-stream' })
      for (const event of faults.events?.(events, path) ?? events) response.write(`${event}\n\n`)
      response.end()
    } catch (thrown) {
      const { status = 500, message } = thrown as Refusal
      const changed = faults.error?.(status, message)
      send(response, changed?.status ?? status, changed?.body ?? errorIn(path, message))
    }
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const LIST = { object: 'list', data: [{ id: SERVED_MODEL, object: 'model', created: 1, owned_by: 'nobody' }] }

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

function send(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body))
}

function readRequest(path: string, text: string, { takesAnyModel, cutsPrompts }: ServerFaults): AnyJson {
  let body: AnyJson
  try {
    body = JSON.parse(text)
  } catch {
    throw new Refusal(400, 'the body is not JSON')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Refusal(400, 'no object')
  if (typeof body.model !== 'string') throw new Refusal(400, 'model must be a string')
  if (body.model !== SERVED_MODEL && !takesAnyModel) throw new Refusal(404, `there is no model ${body.model}`)
  const { temperature, input, messages } = body
  if (temperature !== undefined && typeof temperature !== 'number')
    throw new Refusal(400, 'temperature must be a number')
  if (path === '/v1/chat/completions' || path === '/v1/messages') {
    if (!Array.isArray(messages)) throw new Refusal(400, 'messages must be a list')
  } else if (typeof input !== 'string' && !Array.isArray(input)) throw new Refusal(400, 'input is missing')
  if (!(path in LIMITS) && path !== '/v1/embeddings') throw new Refusal(404, 'there is no such path')
  const limit = body[LIMITS[path] ?? '']
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0 && limit <= WINDOW))
    throw new Refusal(400, 'the limit is out of range')
  if (tokensOf(text) > WINDOW && !cutsPrompts) throw new Refusal(400, 'the prompt is longer than the window')
  return body
}

/** Makes the answer, cut at its limit or before its stop string. */
function say(body: AnyJson, limit: number): ModelAnswer {
  const input = tokensOf(JSON.stringify(body.messages ?? body.input))
  const choice = body.tool_choice?.function?.name ?? body.tool_choice?.name
  if (choice !== undefined) {
    const tool = { id: 'call_1', name: String(choice), arguments: FORM }
    return { words: [], tool, reason: 'tool_calls', input, output: 8 }
  }
  if (body.response_format !== undefined || body.text?.format !== undefined)
    return { words: [FORM], tool: null, reason: 'stop', input, output: 8 }
  const stops: string[] = [body.stop ?? body.stop_sequences ?? []].flat()
  const words = WORDS.slice(0, limit)
  const stopped = words.findIndex((word) => stops.some((stop) => word.includes(stop)))
  if (stopped === -1)
    return {
      words,
      tool: null,
      reason: limit < WORDS.length ? 'length' : 'stop',
      input,
      output: words.length,
    }
  const at = Math.min(...stops.map((stop) => words[stopped]!.indexOf(stop)).filter((place) => place >= 0))
  const kept = [...words.slice(0, stopped), words[stopped]!.slice(0, at)]
  return { words: kept, tool: null, reason: 'stop', input, output: stopped + 1 }
}

const vectors = ({ input, encoding_format }: AnyJson): AnyJson => {
  const texts: string[] = [input].flat()
  const vector = (text: string) => [text.length, 0.5, -1, 0.25]
  const written = (text: string) =>
    encoding_format === 'base64'
      ? Buffer.from(new Float32Array(vector(text)).buffer).toString('base64')
      : vector(text)
  const count = tokensOf(texts.join(''))
  return {
    object: 'list',
    model: SERVED_MODEL,
    data: texts.map((text, index) => ({ object: 'embedding', index, embedding: written(text) })),
    usage: { prompt_tokens: count, total_tokens: count },
  }
}

const text = ({ words }: ModelAnswer): string => words.join(' ')

const chatUsage = ({ input, output }: ModelAnswer) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})

const chatHead = (object: string) => ({ id: 'chatcmpl-1', object, created: 1, model: SERVED_MODEL })

const chatTool = ({ tool }: ModelAnswer) =>
  tool && [{ id: tool.id, type: 'function', function: { name: tool.name, arguments: tool.arguments } }]

function chatWhole(said: ModelAnswer): AnyJson {
  const tools = chatTool(said)
  const message = {
    role: 'assistant',
    content: tools ? null : text(said),
    ...(tools && { tool_calls: tools }),
  }
  return {
    ...chatHead('chat.completion'),
    choices: [{ index: 0, message, finish_reason: said.reason }],
    usage: chatUsage(said),
  }
}

function chatEvents(said: ModelAnswer): string[] {
  const part = (delta: object, finish_reason: string | null = null) => ({
    ...chatHead('chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason }],
  })
  const tools = chatTool(said)?.map((tool) => ({ index: 0, ...tool }))
  const parts = [
    part({ role: 'assistant', content: '' }),
    ...said.words.map((word, index) => part({ content: index === 0 ? word : ` ${word}` })),
    ...(tools ? [part({ tool_calls: tools })] : []),
    part({}, said.reason),
    { ...chatHead('chat.completion.chunk'), choices: [], usage: chatUsage(said) },
  ]
  return [...parts.map((each) => `data: ${JSON.stringify(each)}`), 'data: [DONE]']
}

const MESSAGE_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
}

const messageBlock = ({ tool, ...said }: ModelAnswer): AnyJson =>
  tool
    ? { type: 'tool_use', id: tool.id, name: tool.name, input: jsonOf(tool.arguments) ?? {} }
    : { type: 'text', text: said.words.join(' ') }

const message = (said: ModelAnswer, content: AnyJson[], stop_reason: string | null): AnyJson => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: SERVED_MODEL,
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: said.input, output_tokens: said.output },
})

const messageReason = ({ reason }: ModelAnswer): string => MESSAGE_REASONS[reason] ?? reason

const named = (event: AnyJson): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}`

function messageEvents(said: ModelAnswer): string[] {
  const block = messageBlock(said)
  const isTool = block.type === 'tool_use'
  const delta = isTool
    ? { type: 'input_json_delta', partial_json: said.tool!.arguments }
    : { type: 'text_delta', text: block.text }
  return [
    { type: 'message_start', message: message({ ...said, output: 0 }, [], null) },
    {
      type: 'content_block_start',
      index: 0,
      content_block: isTool ? { ...block, input: {} } : { type: 'text', text: '' },
    },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: messageReason(said), stop_sequence: null },
      usage: { output_tokens: said.output },
    },
    { type: 'message_stop' },
  ].map(named)
}

const responseItem = ({ tool, ...said }: ModelAnswer): AnyJson =>
  tool
    ? {
        type: 'function_call',
        id: 'fc_1',
        call_id: tool.id,
        name: tool.name,
        arguments: tool.arguments,
        status: 'completed',
      }
    : {
        type: 'message',
        id: 'item_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: said.words.join(' '), annotations: [] }],
      }

const response = (said: ModelAnswer): AnyJson => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: SERVED_MODEL,
  status: said.reason === 'length' ? 'incomplete' : 'completed',
  incomplete_details: said.reason === 'length' ? { reason: 'max_output_tokens' } : null,
  error: null,
  output: [responseItem(said)],
  usage: { input_tokens: said.input, output_tokens: said.output, total_tokens: said.input + said.output },
})

function responseEvents(said: ModelAnswer): string[] {
  const whole = response(said)
  const item = whole.output[0]
  const begun = { ...whole, status: 'in_progress', output: [], usage: null, incomplete_details: null }
  const inner = said.tool
    ? [
        {
          type: 'response.function_call_arguments.delta',
          output_index: 0,
          item_id: item.id,
          delta: said.tool.arguments,
        },
      ]
    : [
        {
          type: 'response.output_text.delta',
          output_index: 0,
          content_index: 0,
          item_id: item.id,
          delta: text(said),
        },
      ]
  const added = said.tool ? { ...item, arguments: '' } : { ...item, content: [] }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: added },
    ...inner,
    { type: 'response.output_item.done', output_index: 0, item },
    { type: `response.${whole.status}`, response: whole },
  ].map((event, sequence_number) => named({ ...event, sequence_number }))
}

const WHOLE: Readonly<Record<string, (said: ModelAnswer) => AnyJson>> = {
  '/v1/chat/completions': chatWhole,
  '/v1/messages': (said) => message(said, [messageBlock(said)], messageReason(said)),
  '/v1/responses': response,
}
const EVENTS: Readonly<Record<string, (said: ModelAnswer) => string[]>> = {
  '/v1/chat/completions': chatEvents,
  '/v1/messages': messageEvents,
  '/v1/responses': responseEvents,
}
