// One WebSocket of a client. Forwards each `response.create` as a separate request, and returns its events as
// messages. Handles lanes, order, limits and slow readers. Independent of the gateway and providers: `post`
// sends the request.
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import { objectIn } from '../json/object-in.ts'
import { memberText, omitMembers, spliceMembers } from '../json/splice.ts'
import { after, every, guarded, ignoreErrors, on } from '../shared/boundary.ts'
import { clock, type Timer } from '../shared/clock.ts'
import { MEMORY, type MemoryShare } from '../shared/memory.ts'
import {
  type Conversation,
  continued,
  OutputCollector,
  SocketState,
  withOutput,
  writtenOut,
} from './continuation.ts'
import { errorMessage, eventReader, inLane, isEnd, typeOf } from './frames.ts'

interface SocketSettings {
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
  /** Name of the client's key, which the memory of the socket is taken from. */
  readonly keyName: string | null
  /** Called once, when the socket has closed. */
  readonly onClose: () => void
}

/** Limits of OpenAI's sockets, which clients expect. */
const MAX_LANES = 32
const MAX_RUNNING = 16
/** Maximum responses that wait for their turn. */
const MAX_WAITING = 64

/** Memory of an open socket, bytes. */
const SOCKET_BYTES = 2 ** 15
/** Memory of a message or a request for each of its characters, as text and as bytes. */
const TEXT_WEIGHT = 2
/** Time after which a socket without memory for its message is cut, ms. */
const CUT_MS = 1_000

/**
 * Interval of pings. Pings prevent proxies from closing the connection, and detect a client that has left.
 */
const PING_INTERVAL_MS = 30_000
/** Intervals after which a client is cut that reads none of the messages that wait for it, and answers no ping. */
const MAX_UNMOVED = 5

/** A `response.create` message as received. */
interface Create {
  readonly lane: string | null
  readonly text: string
}

type Message = Readonly<Record<string, unknown>>
type Refusal = readonly [
  status: number,
  code: string,
  message: string,
  headers?: Readonly<Record<string, string>>,
]

export class ResponsesSocket {
  readonly #ws: WebSocket
  readonly #settings: SocketSettings
  readonly #state: SocketState
  /** Memory of messages and requests. */
  readonly #share: MemoryShare
  /** Memory of messages that the client has not read yet. */
  readonly #unread: MemoryShare
  /** Bytes of a message that has not arrived completely. */
  #partial = 0
  /** Requests in progress, by lane. */
  readonly #running = new Map<string | null, ClientRequest>()
  readonly #lanes = new Set<string | null>()
  #waiting: Create[] = []
  /** Answers that are paused until the client has read the sent messages. */
  readonly #held = new Set<IncomingMessage>()
  /** True if no more messages are read until the client has read the sent ones. */
  #isPaused = false
  readonly #timers: Timer[]
  #idle: Timer
  #isAlive = true
  /** Intervals since the last ping in which no message was sent completely. */
  #unmoved = 0
  /** Reason to close once no response is running. */
  #ending: readonly [code: number, reason: string] | null = null
  #warmUps = 0

  /** Opens the socket over a connection. */
  constructor(ws: WebSocket, connection: Duplex, settings: SocketSettings) {
    this.#ws = ws
    this.#settings = settings
    const { keyName } = settings
    this.#state = new SocketState(keyName)
    this.#share = MEMORY.open(keyName, 'demand', () => this.#overflow())
    this.#unread = MEMORY.open(keyName, 'unread', () => this.terminate())
    this.#idle = this.#armIdle()
    this.#timers = [
      every(PING_INTERVAL_MS, () => this.#ping(), this.#broken).unref(),
      after(settings.life, () => this.end(1001, 'the time of this connection is over'), this.#broken).unref(),
    ]
    const message = (data: RawData, isBinary: boolean) => this.#message(data, isBinary)
    on(ws, { message }, () => this.#failed(null))
    // Before the library reads the bytes, which it keeps until a message is complete.
    const arrived = (bytes: Buffer) => this.#arrived(bytes.length)
    connection.prependListener('data', guarded(arrived, this.#broken))
    const pong = () => {
      this.#isAlive = true
    }
    on(ws, { pong }, this.#broken)
    on(ws, { close: () => this.#closed() }, () => this.#closed())
    ignoreErrors(ws) // ws itself closes the connection with the right code
    if (!this.#share.take(SOCKET_BYTES)) this.#overflow()
  }

  /** Ends the socket after a fault of the gateway. */
  readonly #broken = () => this.terminate()

  /** Answers a message after a fault of the gateway. The socket stays open. */
  #failed(lane: string | null): void {
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

  /** Counts bytes of a message that is arriving. */
  #arrived(bytes: number): void {
    if (this.#share.take(bytes)) this.#partial += bytes
    else this.#overflow()
  }

  /** Closes the connection at once, because there is no memory for what its client sends. */
  #overflow(): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#ws.close(...NO_MEMORY)
    this.#ws.pause()
    after(CUT_MS, () => this.terminate(), this.#broken).unref()
  }

  #armIdle(): Timer {
    const end = () => this.end(1001, 'nothing was asked for a long time')
    return after(this.#settings.idle, end, this.#broken).unref()
  }

  #ping(): void {
    if (this.#isAlive) {
      this.#isAlive = false
      this.#unmoved = 0
      this.#ws.ping()
      return
    }
    this.#unmoved++
    // The answer to the ping may come behind messages that the client still reads.
    if (this.#held.size === 0 || this.#unmoved === MAX_UNMOVED) this.terminate()
  }

  #closed(): void {
    for (const timer of this.#timers) timer.close()
    this.#idle.close()
    for (const request of this.#running.values()) request.destroy()
    this.#running.clear()
    this.#waiting = []
    this.#held.clear()
    this.#state.clear()
    this.#share.release()
    this.#unread.release()
    this.#settings.onClose()
  }

  #closeIfDone(): void {
    if (this.#ending && this.#running.size === 0) this.#ws.close(...this.#ending)
  }

  #message(data: RawData, isBinary: boolean): void {
    this.#share.give(this.#partial)
    this.#partial = 0
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
    else if (typeof type !== 'string' || UNSUPPORTED.includes(type))
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
    if (!this.#share.take(TEXT_WEIGHT * create.text.length)) {
      this.#refuseWithoutMemory(create.lane)
      return
    }
    this.#lanes.add(create.lane)
    if (this.#running.has(create.lane) || this.#running.size >= MAX_RUNNING) this.#waiting.push(create)
    else this.#run(create)
  }

  /** Refuses a response and closes the connection once the others have ended. */
  #refuseWithoutMemory(lane: string | null): void {
    const headers = { 'retry-after': '1' }
    this.#refuse(lane, 503, 'overloaded', 'Too much at once: the memory set aside for it is full.', headers)
    this.end(...NO_MEMORY)
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
    this.#idle.close()
    const own = omitMembers(text, [['type'], ['stream_id'], ['stream'], ['generate']])
    const previous = stringIn(own, 'previous_response_id')
    const before = previous === null ? undefined : this.#state.find(previous)
    const conversation = continued(own, before)
    if (memberText(text, 'generate') === 'false' && this.#settings.hasState) {
      this.#warmUp(create, own, conversation)
      return
    }
    const taken = TEXT_WEIGHT * text.length
    const more = before ? TEXT_WEIGHT * conversation.characters : 0
    if (!this.#share.take(more)) {
      this.#share.give(taken)
      this.#refuseWithoutMemory(lane)
      return
    }
    const body = spliceMembers(before ? writtenOut(own, conversation) : own, { stream: 'true' })
    const request = this.#settings.post(body, headersIn(text))
    this.#running.set(lane, request)
    const answer: Answer = {
      ...{ taken: taken + more, begun: 0, event: 0 },
      ...{ lane, request, conversation, added: own.length, continued: before ? previous : null },
      ...{ isUnkept: memberText(own, 'store') === 'false', output: new OutputCollector(), hasEnded: false },
    }
    const response = (response: IncomingMessage) => this.#relay(answer, response)
    // An error: cut off before its headers, because the gateway is stopping.
    on(request, { response, error: () => this.#over(answer) }, () => this.#cutOff(answer))
  }

  /** Prepares a conversation without causing an inference. */
  #warmUp({ lane, text }: Create, own: string, conversation: Conversation): void {
    this.#share.give(TEXT_WEIGHT * text.length)
    const id = `resp_warm_${clock.now().toString(36)}_${++this.#warmUps}`
    this.#state.keep(id, conversation, own.length, conversation.items.length)
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
      if (!read) {
        if (this.#hold(answer, text.length)) whole += text
      } else if (this.#begin(answer, text.length)) read(text)
      if (this.#isFull && this.#ws.readyState === this.#ws.OPEN) this.#pause(response)
    }
    const end = () => {
      if (!read && status < 300) this.#event(answer, `{"type":"response.completed","response":${whole}}`)
      else if (!read) this.#fail(answer, errorMessage(status, headers, whole))
      this.#over(answer)
    }
    const close = () => void this.#held.delete(response)
    const error = () => this.#over(answer)
    on(response, { data, end, error, close }, () => this.#cutOff(answer))
  }

  /** Ends a response after a fault of the gateway, and its request with it. */
  #cutOff(answer: Answer): void {
    answer.request.destroy()
    this.#over(answer)
  }

  /** Takes memory for a part of an answer that stays here until its end. Returns false, and ends it, if there is none. */
  #hold(answer: Answer, characters: number): boolean {
    const bytes = TEXT_WEIGHT * characters
    if (this.#share.take(bytes)) {
      answer.taken += bytes
      return true
    }
    this.#fail(answer, errorMessage(503, { 'retry-after': '1' }, ''))
    answer.request.destroy()
    return false
  }

  /** Takes memory for a part of an event, once it is large. Returns false if there is none. */
  #begin(answer: Answer, characters: number): boolean {
    answer.begun += characters
    if (answer.begun <= MAX_UNSENT_BYTES) return true
    answer.event += TEXT_WEIGHT * characters
    return this.#hold(answer, characters)
  }

  #event(answer: Answer, json: string): void {
    answer.begun = 0
    if (answer.event > 0) {
      this.#share.give(answer.event)
      answer.taken -= answer.event
      answer.event = 0
    }
    if (answer.hasEnded) return
    if (objectIn(json) === null) {
      // Over HTTP its bytes would be passed on, but a message is always JSON.
      this.#fail(answer, errorMessage(502, {}, UNREADABLE))
      return
    }
    const type = typeOf(json)
    const before = answer.output.bytes
    answer.output.add(type, json)
    if (answer.output.bytes > before && !this.#hold(answer, answer.output.bytes - before)) return
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
      this.#state.keep(
        ...([id, withOutput(conversation, items)] as const),
        ...([added + bytes, conversation.items.length + items.length] as const),
      )
  }

  #fail(answer: Answer, message: string): void {
    answer.hasEnded = true
    if (answer.continued !== null) this.#state.forget(answer.continued)
    this.#send(message, answer.lane)
  }

  #over(answer: Answer): void {
    const { lane, request, hasEnded } = answer
    if (this.#running.get(lane) !== request) return
    this.#share.give(answer.taken)
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
      this.#idle.close()
      this.#idle = this.#armIdle()
      this.#closeIfDone()
    }
  }

  #refuse(lane: string | null, ...[status, code, message, headers = {}]: Refusal): void {
    const type = status < 500 ? 'invalid_request_error' : 'server_error'
    const body = JSON.stringify({ error: { message, type, param: null, code } })
    this.#send(errorMessage(status, headers, body), lane)
    // A client that sends messages and reads no answers must wait.
    if (this.#isFull && !this.#isPaused) {
      this.#isPaused = true
      this.#ws.pause()
    }
    this.#closeIfDone()
  }

  #send(json: string, lane: string | null): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#ws.send(inLane(json, lane), this.#onSent)
    this.#count()
  }

  readonly #onSent = guarded(() => {
    this.#unmoved = 0
    this.#count()
    this.#goOn()
  }, this.#broken)

  #count(): void {
    const bytes = this.#ws.bufferedAmount
    this.#unread.set(bytes > MAX_UNSENT_BYTES ? bytes : 0)
  }

  /** True if the client has not yet read all sent messages. */
  get #isFull(): boolean {
    return this.#ws.bufferedAmount > MAX_UNSENT_BYTES
  }

  #pause(response: IncomingMessage): void {
    response.pause()
    this.#held.add(response)
  }

  #goOn(): void {
    if (this.#isFull) return
    if (this.#isPaused) this.#ws.resume()
    this.#isPaused = false
    for (const response of this.#held) response.resume()
    this.#held.clear()
  }
}

/** Bytes that may wait in a socket before its answers are paused. The paused bytes are counted elsewhere. */
const MAX_UNSENT_BYTES = 2 ** 14

/** A response in progress. */
interface Answer {
  /** Memory taken for it. */
  taken: number
  /** Characters of an incomplete event, and the memory taken for them. */
  begun: number
  event: number
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

/** Body of the error for an event that is not JSON. */
const UNREADABLE =
  '{"error":{"message":"The provider sent an event that cannot be read.","type":"server_error","param":null,"code":"upstream_invalid"}}'

/** Close code and reason if there is no memory for a message. */
const NO_MEMORY = [1013, 'too much at once; try again later'] as const

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

/** Headers that a message may replace: what clients say about a turn. None is about a connection, a body or a key. */
const REPLACEABLE =
  /^((x-)?(openai|codex|oai|client|stainless|session)-[a-z0-9-]+|x-gateway-session-id|thread-id|originator|traceparent|tracestate)$/

/** Returns the headers that Codex sends inside a message. */
function headersIn(text: string): Record<string, string> {
  const metadata = JSON.parse(memberText(text, 'client_metadata') ?? 'null')
  if (typeof metadata !== 'object' || metadata === null) return {}
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(metadata)) {
    if (typeof value !== 'string' || /[^\x20-\x7e]/.test(value)) continue
    const [, header] = HEADER_MEMBER.exec(name) ?? []
    const dashed = header?.replaceAll('_', '-')
    if (dashed !== undefined && REPLACEABLE.test(dashed)) headers[dashed] = value
    else if (name === 'x-codex-turn-state' || name === 'x-codex-turn-metadata') headers[name] = value
  }
  return headers
}
