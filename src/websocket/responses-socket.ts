// One WebSocket of a client. Forwards each `response.create` as a separate request, and returns its events as
// messages. Handles lanes, order, limits and slow readers. Independent of the gateway and providers: `post`
// sends the request.
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { RawData, WebSocket } from 'ws'
import { memberText, omitMembers, spliceMembers } from '../json/splice.ts'
import { after, every, ignoreErrors, on, stray } from '../shared/boundary.ts'
import { type Conversation, continued, OutputCollector, writtenOut } from './continuation.ts'
import { errorMessage, eventReader, inLane, isEnd, typeOf } from './frames.ts'
import { SocketState } from './socket-state.ts'

export interface SocketSettings {
  /** Sends a request and returns it. `headers`: headers carried by the message itself. */
  readonly post: (body: string, headers: Readonly<Record<string, string>>) => ClientRequest
  /** Maximum time without a response in progress, ms. */
  readonly idle: number
  /** Maximum lifetime of the connection, ms. */
  readonly life: number
  /** Maximum JSON values of a message; an empty list or object counts twice. */
  readonly holdsTooMuch: (bytes: Buffer) => boolean
  /**
   * True if responses that no provider stores can be continued here. Then their conversations stay in memory.
   */
  readonly hasState: boolean
  /** True if the connection is cut when a response is cut off, as a provider would do. */
  readonly breaksWithResponse: boolean
  /** Called once, when the socket has closed. */
  readonly onClose: () => void
}

/** Limits of OpenAI's sockets, which clients expect. */
const MAX_LANES = 32
const MAX_RUNNING = 16
/** Maximum responses that wait for their turn. */
const MAX_WAITING = 64

/**
 * Interval of pings. Pings prevent proxies from closing the connection, and detect a client that has left.
 */
const PING_INTERVAL_MS = 30_000

/** A `response.create` message as received. */
interface Create {
  readonly lane: string | null
  readonly text: string
}

type Message = Readonly<Record<string, unknown>>
type Refusal = readonly [status: number, code: string, message: string]

export class ResponsesSocket {
  readonly #ws: WebSocket
  readonly #settings: SocketSettings
  readonly #state = new SocketState()
  /** Requests in progress, by lane. */
  readonly #running = new Map<string | null, ClientRequest>()
  readonly #lanes = new Set<string | null>()
  #waiting: Create[] = []
  /** Answers that are paused until the client has read the sent messages. */
  readonly #held = new Set<IncomingMessage>()
  readonly #timers: NodeJS.Timeout[]
  #idle: NodeJS.Timeout
  #isAlive = true
  /** Reason to close once no response is running. */
  #ending: readonly [code: number, reason: string] | null = null
  #warmUps = 0

  constructor(ws: WebSocket, settings: SocketSettings) {
    this.#ws = ws
    this.#settings = settings
    this.#idle = this.#armIdle()
    this.#timers = [
      every(PING_INTERVAL_MS, () => this.#ping(), this.#broken).unref(),
      after(settings.life, () => this.end(1001, 'the time of this connection is over'), this.#broken).unref(),
    ]
    const message = (data: RawData, isBinary: boolean) => this.#message(data, isBinary)
    on(ws, { message }, (error) => this.#failed(null, error))
    const pong = () => {
      this.#isAlive = true
    }
    on(ws, { pong, close: () => this.#closed() }, this.#broken)
    ignoreErrors(ws) // ws itself closes the connection with the right code
  }

  /** Ends the socket after a fault of the gateway. */
  #broken = (error: unknown) => {
    stray(error)
    this.terminate()
  }

  /** Answers a message after a fault of the gateway. The socket stays open. */
  #failed(lane: string | null, error: unknown): void {
    stray(error)
    this.#refuse(lane, 500, 'internal', 'The gateway failed; its process log says why.')
  }

  /** Waits for responses in progress, then closes. */
  end(code: number, reason: string): void {
    this.#ending ??= [code, reason]
    this.#waiting = []
    this.#closeIfDone()
  }

  /** Cuts the connection. */
  terminate(): void {
    this.#ws.terminate()
  }

  #armIdle(): NodeJS.Timeout {
    const end = () => this.end(1001, 'nothing was asked for a long time')
    return after(this.#settings.idle, end, this.#broken).unref()
  }

  #ping(): void {
    if (!this.#isAlive && this.#held.size === 0) {
      this.terminate()
      return
    }
    this.#isAlive = false
    this.#ws.ping()
  }

  #closed(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    clearTimeout(this.#idle)
    for (const request of this.#running.values()) request.destroy()
    this.#running.clear()
    this.#waiting = []
    this.#held.clear()
    this.#state.clear()
    this.#settings.onClose()
  }

  #closeIfDone(): void {
    if (this.#ending && this.#running.size === 0) this.#ws.close(...this.#ending)
  }

  #message(data: RawData, isBinary: boolean): void {
    if (isBinary) {
      this.#ws.close(1003, 'messages are JSON in text')
      return
    }
    const text = (data as Buffer).toString()
    const message = this.#settings.holdsTooMuch(data as Buffer) ? null : parsed(text)
    if (message === null) {
      this.#refuse(null, 413, 'body_too_large', 'The message contains too many JSON values.')
      return
    }
    if (message === undefined) {
      this.#refuse(null, 400, 'invalid_json', 'The message is not a JSON object.')
      return
    }
    const { type, stream_id } = message
    const lane = typeof stream_id === 'string' ? stream_id : null
    if (type === 'response.create') this.#create({ lane, text }, message)
    // Other types are ignored: Codex sends its own notes, which need no answer.
    else if (type === undefined || UNSUPPORTED.includes(String(type)))
      this.#refuse(
        ...([lane, 400, 'invalid_request'] as const),
        `type: ${JSON.stringify(type ?? null)} is not supported here; send response.create`,
      )
  }

  #create(create: Create, json: Message): void {
    const refusal = this.#refusalOf(create, json)
    if (refusal) {
      this.#refuse(create.lane, ...refusal)
      return
    }
    this.#lanes.add(create.lane)
    if (this.#running.has(create.lane) || this.#running.size >= MAX_RUNNING) this.#waiting.push(create)
    else this.#run(create)
  }

  #refusalOf({ lane }: Create, { background, stream_id }: Message): Refusal | null {
    if (this.#ending)
      return [400, 'websocket_connection_limit_reached', 'This connection is closing; open a new one.']
    if (background === true)
      return [400, 'invalid_request', 'background: not possible over a WebSocket; send a POST.']
    if (stream_id !== undefined && stream_id !== null && typeof stream_id !== 'string')
      return [400, 'invalid_request', 'stream_id: must be a text.']
    if (!this.#lanes.has(lane) && this.#lanes.size >= MAX_LANES)
      return [400, 'invalid_request', `stream_id: a connection has at most ${MAX_LANES} lanes.`]
    if (this.#waiting.length >= MAX_WAITING)
      return [429, 'rate_limited', `More than ${MAX_WAITING} responses wait on this connection.`]
    return null
  }

  #run(create: Create): void {
    const { lane, text } = create
    clearTimeout(this.#idle)
    const own = omitMembers(text, [['type'], ['stream_id'], ['stream'], ['generate']])
    const previous = stringIn(own, 'previous_response_id')
    const before = previous === null ? undefined : this.#state.find(previous)
    const conversation = continued(own, before)
    if (memberText(text, 'generate') === 'false' && this.#settings.hasState) {
      this.#warmUp(lane, own, conversation)
      return
    }
    const body = spliceMembers(before ? writtenOut(own, conversation) : own, { stream: 'true' })
    const request = this.#settings.post(body, headersIn(text))
    this.#running.set(lane, request)
    const answer: Answer = {
      ...{ lane, request, conversation, added: own.length, continued: before ? previous : null },
      ...{ isUnkept: memberText(own, 'store') === 'false', output: new OutputCollector(), hasEnded: false },
    }
    const response = (response: IncomingMessage) => this.#relay(answer, response)
    // An error: cut off before its headers, because the gateway is stopping.
    on(request, { response, error: () => this.#over(answer) }, (error) => this.#cutOff(answer, error))
  }

  /** Prepares a conversation without causing an inference. */
  #warmUp(lane: string | null, own: string, conversation: Conversation): void {
    const id = `resp_warm_${Date.now().toString(36)}_${++this.#warmUps}`
    this.#state.keep(id, conversation, own.length)
    const model = stringIn(own, 'model')
    const response = { id, object: 'response', model, output: [], store: false, error: null }
    const steps = ['created', 'in_progress', 'completed'] as const
    steps.forEach((step, sequence_number) => {
      const status = step === 'completed' ? 'completed' : 'in_progress'
      const event = { type: `response.${step}`, sequence_number, response: { ...response, status } }
      this.#send(JSON.stringify(event), lane)
    })
    this.#next()
  }

  #relay(answer: Answer, response: IncomingMessage): void {
    const { statusCode: status = 0, headers } = response
    const isStream = /^text\/event-stream\b/i.test(headers['content-type'] ?? '')
    const read = isStream ? eventReader((json) => this.#event(answer, json)) : null
    response.setEncoding('utf8')
    let whole = ''
    const data = (text: string) => {
      if (read) read(text)
      else whole += text
      if (this.#isFull && this.#ws.readyState === this.#ws.OPEN) this.#hold(response)
    }
    const end = () => {
      if (!read && status < 300) this.#event(answer, `{"type":"response.completed","response":${whole}}`)
      else if (!read) this.#fail(answer, errorMessage(status, headers, whole))
      this.#over(answer)
    }
    const close = () => void this.#held.delete(response)
    const error = () => this.#over(answer)
    on(response, { data, end, error, close }, (error) => this.#cutOff(answer, error))
  }

  /** Ends a response after a fault of the gateway, and its request with it. */
  #cutOff(answer: Answer, error: unknown): void {
    stray(error)
    answer.request.destroy()
    this.#over(answer)
  }

  #event(answer: Answer, json: string): void {
    const type = typeOf(json)
    answer.output.add(type, json)
    if (isEnd(type)) {
      answer.hasEnded = true
      this.#remember(answer)
    }
    this.#send(json, answer.lane)
  }

  /** Stores the conversation if the provider does not. */
  #remember({ output, conversation, continued, isUnkept, added }: Answer): void {
    const { id, isComplete, isKept, items, bytes } = output
    if (!isComplete || id === null) {
      if (continued !== null) this.#state.forget(continued)
    } else if (this.#settings.hasState && (isUnkept || !isKept))
      this.#state.keep(id, { ...conversation, items: [...conversation.items, ...items] }, added + bytes)
  }

  #fail(answer: Answer, message: string): void {
    answer.hasEnded = true
    if (answer.continued !== null) this.#state.forget(answer.continued)
    this.#send(message, answer.lane)
  }

  #over(answer: Answer): void {
    const { lane, request, hasEnded } = answer
    if (this.#running.get(lane) !== request) return
    if (!hasEnded && this.#settings.breaksWithResponse) this.terminate()
    else if (!hasEnded)
      this.#refuse(lane, 502, 'upstream_unreachable', 'The response ended before it was complete.')
    this.#running.delete(lane)
    this.#next()
  }

  /** Runs the next response whose lane is free. */
  #next(): void {
    const at = this.#waiting.findIndex(({ lane }) => !this.#running.has(lane))
    const [create] = at < 0 ? [] : this.#waiting.splice(at, 1)
    if (create) this.#run(create)
    else if (this.#running.size === 0) {
      clearTimeout(this.#idle)
      this.#idle = this.#armIdle()
      this.#closeIfDone()
    }
  }

  #refuse(lane: string | null, status: number, code: string, message: string): void {
    const type = status < 500 ? 'invalid_request_error' : 'server_error'
    const body = JSON.stringify({ error: { message, type, param: null, code } })
    this.#send(errorMessage(status, {}, body), lane)
    this.#closeIfDone()
  }

  #send(json: string, lane: string | null): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#ws.send(inLane(json, lane), () => this.#goOn())
  }

  /** True if the client has not yet read all sent messages. */
  get #isFull(): boolean {
    return this.#ws.bufferedAmount > MAX_UNSENT_BYTES
  }

  #hold(response: IncomingMessage): void {
    response.pause()
    this.#held.add(response)
  }

  #goOn(): void {
    if (this.#held.size === 0 || this.#isFull) return
    for (const response of this.#held) response.resume()
    this.#held.clear()
  }
}

/** Bytes that may wait in a socket before its answers are paused. The paused bytes are counted elsewhere. */
const MAX_UNSENT_BYTES = 2 ** 14

/** A response in progress. */
interface Answer {
  readonly lane: string | null
  readonly request: ClientRequest
  /** Conversation up to and including the request. */
  readonly conversation: Conversation
  /** Length of the message, characters. */
  readonly added: number
  /** Response in this socket's state that this one continues; null for none. */
  readonly continued: string | null
  /** True if the request says that the response must not be stored. */
  readonly isUnkept: boolean
  readonly output: OutputCollector
  /** True if the last event has been sent. */
  hasEnded: boolean
}

/** Types of messages for features that are not supported. */
const UNSUPPORTED = ['response.steer', 'response.inject']

/** Parses a message; undefined if it is not a JSON object. */
function parsed(text: string): Message | undefined {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Message) : undefined
  } catch {
    return undefined
  }
}

function stringIn(text: string, name: string): string | null {
  const value = JSON.parse(memberText(text, name) ?? 'null')
  return typeof value === 'string' ? value : null
}

/** Members of `client_metadata` that replace a header of a POST. */
const HEADER_MEMBER = /^ws_request_header_([a-z0-9_]+)$/

/** Returns the headers that Codex sends inside a message. */
function headersIn(text: string): Record<string, string> {
  const metadata = JSON.parse(memberText(text, 'client_metadata') ?? 'null')
  if (typeof metadata !== 'object' || metadata === null) return {}
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(metadata)) {
    if (typeof value !== 'string' || /[^\x20-\x7e]/.test(value)) continue
    const [, header] = HEADER_MEMBER.exec(name) ?? []
    if (header !== undefined) headers[header.replaceAll('_', '-')] = value
    else if (name === 'x-codex-turn-state' || name === 'x-codex-turn-metadata') headers[name] = value
  }
  return headers
}
