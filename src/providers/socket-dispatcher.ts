// Sends requests over a provider's WebSocket. An exchange receives the same data as over HTTP. If the
// connection already has the beginning of a conversation, only the new part is sent, with
// `previous_response_id`. If no socket is available, the request uses HTTP. Independent of calls and the
// record.
import { hash } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { RawData, WebSocket } from 'ws'
import { elementsOf, memberText, omitMembers, spliceMembers } from '../json/splice.ts'
import { after, detached, guarded, on } from '../shared/boundary.ts'
import { clock, type Timer } from '../shared/clock.ts'
import { inputItems, OutputCollector } from '../websocket/continuation.ts'
import { eventOf, isEnd, typeOf } from '../websocket/frames.ts'
import { trustedWith } from './proxy.ts'

/** A handler that is notified when its request uses a socket. */
interface SocketHandler extends Dispatcher.DispatchHandler {
  overSocket?(): void
  /** Counts bytes that are kept for the request outside of the handler. */
  counts?(bytes: number): void
}

interface SocketDispatcherOptions {
  readonly http: Pick<Dispatcher, 'dispatch'>
  readonly origin: string
  /** Timeout for connecting, ms. */
  readonly connectMs: number
  /** Certificates to trust in addition to the default ones, in PEM; null for none. */
  readonly ca: string | null
}

/** Maximum connections to one origin. While all are busy, requests use HTTP. */
const MAX_CONNECTIONS = 64

/** Time after which an unused connection is closed, ms. */
const IDLE_MS = 5 * 60_000

/** Age from which a connection accepts no more requests, ms. Providers end it after 60 minutes. */
const MAX_AGE_MS = 55 * 60_000

/** Time for which requests use HTTP after a refused handshake, ms. */
const REFUSED_MS = 5 * 60_000

/** Status of a handshake that is not completed in time. */
const UNANSWERED = 408

/** Statuses of a handshake that mean that this address has no socket. */
const NO_SOCKET = [404, 405, 426, 501, UNANSWERED]

/** Headers of a single request. The headers become part of the message, or belong only to HTTP. */
const PER_REQUEST =
  /^(x-codex-turn-.+|x-openai-internal-.+|x-client-request-id|traceparent|tracestate|content-type|content-length|accept|accept-encoding)$/

type Controller = Dispatcher.DispatchController

/** A request for a socket. */
interface Job {
  readonly options: Dispatcher.DispatchOptions
  readonly handler: SocketHandler
  readonly body: string
  /** Headers of the handshake, in a fixed order. */
  readonly handshake: readonly (readonly [string, string])[]
  /** Name of the connections that can serve the request. Connections of the same name are interchangeable. */
  readonly name: string
  /** True if the request is sent for the second time, in full. */
  readonly isAgain: boolean
}

export class SocketDispatcher {
  readonly #options: SocketDispatcherOptions
  readonly #connections = new Set<Connection>()
  #opening = 0
  /** Time on the `performance` clock, ms. */
  #refusedUntil = 0

  constructor(options: SocketDispatcherOptions) {
    this.#options = options
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: SocketHandler): boolean {
    const headers = pairs(options.headers as readonly string[])
    const wantsStream = headers.some(([name, value]) => name === 'accept' && value === 'text/event-stream')
    const isResponses = /\/responses(\?|$)/.test(options.path) && typeof options.body === 'string'
    if (!wantsStream || !isResponses || clock.monotonic() < this.#refusedUntil)
      return this.#options.http.dispatch(options, handler)
    const handshake = handshakeOf(headers)
    const name = JSON.stringify([options.path, handshake])
    const body = withMetadata(options.body as string, headers)
    this.#run({ options, handler, body, handshake, name, isAgain: false })
    return true
  }

  async destroy(): Promise<void> {
    for (const connection of this.#connections) connection.close()
  }

  #run(job: Job): void {
    const free = [...this.#connections].filter((each) => each.isFree && each.name === job.name)
    const input = memberText(job.body, 'input') ?? ''
    const items = input.startsWith('[') ? elementsOf(input) : []
    const previous = previousIn(job.body)
    const fits = free.find((each) => each.continues(items, previous)) ?? free[0]
    if (fits) fits.send(job, job.isAgain ? [] : items)
    else this.#openFor(job)
  }

  #openFor(job: Job): void {
    detached(this.#open(job), (error) => job.handler.onResponseError?.(NO_CONTROLLER, error as Error))
  }

  /** Opens a connection for a request. If none can be opened, the request uses HTTP. */
  async #open(job: Job): Promise<void> {
    const { options, handler } = job
    if (this.#connections.size + this.#opening >= MAX_CONNECTIONS && !this.#dropOne()) {
      this.#options.http.dispatch(options, handler)
      return
    }
    this.#opening++
    const ws = await connect(this.#options, job).finally(() => this.#opening--)
    if (typeof ws === 'number') {
      if (NO_SOCKET.includes(ws)) this.#refusedUntil = clock.monotonic() + REFUSED_MS
      this.#options.http.dispatch(options, handler)
      return
    }
    const connection: Connection = new Connection(ws, job.name, {
      closed: () => this.#connections.delete(connection),
      again: (again) => this.#openFor(again),
      overHttp: ({ options, handler }) => this.#options.http.dispatch(options, handler),
    })
    this.#connections.add(connection)
    connection.send(job, [])
  }

  /** Closes the connection that has been idle longest. */
  #dropOne(): boolean {
    const free = [...this.#connections].filter((each) => each.isFree)
    const oldest = free.sort((a, b) => a.usedAt - b.usedAt)[0]
    oldest?.close()
    if (oldest) this.#connections.delete(oldest)
    return oldest !== undefined
  }
}

interface Opened {
  readonly socket: WebSocket
  /** Connection of the socket. */
  readonly connection: Duplex
  readonly headers: Record<string, string | string[] | undefined>
}

/** Opens a socket. If that fails, returns the status of the refusal, or 0 without one. */
async function connect(
  { origin, connectMs, ca }: SocketDispatcherOptions,
  { options, handshake }: Job,
): Promise<Opened | number> {
  const { WebSocket } = await import('ws')
  const { promise, resolve } = Promise.withResolvers<Opened | number>()
  const socket = new WebSocket(`${origin.replace(/^http/, 'ws')}${options.path}`, {
    headers: Object.fromEntries(handshake),
    ...trustedWith(ca),
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: MAX_MESSAGE_BYTES,
    ...{ closeTimeout: CLOSE_MS }, // the types do not know it yet
  })
  let headers: Opened['headers'] = {}
  let connection: Duplex
  const listeners = {
    upgrade(response: IncomingMessage) {
      const { 'content-encoding': _, 'content-length': __, ...kept } = response.headers
      headers = kept // the omitted ones would describe the events
      connection = response.socket
    },
    open: () => resolve({ socket, connection, headers }),
    'unexpected-response'(request: ClientRequest, response: IncomingMessage) {
      request.destroy()
      resolve(response.statusCode ?? 0)
    },
    error: () => resolve(0),
  }
  const fault = () => {
    resolve(0)
    socket.terminate()
  }
  on(socket, listeners, fault)
  // The library's own limit begins again with each byte.
  const late = () => {
    resolve(UNANSWERED)
    socket.terminate()
  }
  const timer = after(connectMs, late, fault)
  return promise.finally(() => timer.close())
}

/** Maximum bytes of a message that belongs to no request. */
const MAX_UNASKED_BYTES = 2 ** 16

/** Maximum time for which a provider may keep a connection after it has said that it closes it, ms. */
const CLOSE_MS = 1_000

/** Maximum bytes of one event. */
const MAX_MESSAGE_BYTES = 32 * 2 ** 20

interface ConnectionEvents {
  closed(): void
  /** The request must be sent again on a new connection. */
  again(job: Job): void
  overHttp(job: Job): void
}

/** One connection; has one response at a time. */
class Connection {
  readonly name: string
  usedAt = clock.monotonic()
  readonly #openedAt = clock.monotonic()
  readonly #ws: WebSocket
  readonly #headers: Opened['headers']
  readonly #events: ConnectionEvents
  #running: Running | null = null
  /** Bytes of a message that has not arrived completely. */
  #partial = 0
  /** Request that was sent last. It may be over. */
  #latest: Running | null = null
  /** Conversation after the last response: its id, its number of items, and their digest. */
  #known: { readonly id: string; readonly count: number; readonly digest: string } | null = null
  #timer: Timer | null = null
  #isClosed = false

  constructor({ socket: ws, connection, headers }: Opened, name: string, events: ConnectionEvents) {
    this.#ws = ws
    this.name = name
    this.#headers = headers
    this.#events = events
    const message = (data: RawData, isBinary: boolean) => {
      this.#partial = 0
      if (isBinary) this.close()
      else this.#message(String(data))
    }
    const fault = (error: unknown) => this.#fail(error as Error, this.#latest)
    // Before the library reads the bytes, which it keeps until a message is complete.
    const arrived = (bytes: Buffer) => this.#arrived(bytes.length)
    connection.prependListener('data', guarded(arrived, fault))
    // After invalid frames, the library would wait for the provider to close the connection.
    const error = () => this.close()
    on(ws, { message, error, close: (code: number) => this.#over(code) }, fault)
  }

  /** Counts bytes of a message that is arriving. Of the output, only digests are kept. */
  #arrived(bytes: number): void {
    this.#partial += bytes
    if (this.#running) this.#running.job.handler.counts?.(this.#partial)
    else if (this.#partial > MAX_UNASKED_BYTES) this.close()
  }

  /** Ends the connection, and the request that cannot be read or handled any further. */
  #fail(error: Error, running: Running | null): void {
    if (this.#running === running) this.#running = null
    this.close()
    if (!running || running.isOver) return
    running.isOver = true
    running.job.handler.onResponseError?.(running.controller, error)
  }

  get isFree(): boolean {
    const isOpen = !this.#isClosed && this.#ws.readyState === this.#ws.OPEN // not after the provider has said goodbye
    return isOpen && !this.#running && clock.monotonic() - this.#openedAt < MAX_AGE_MS
  }

  /** Returns true if the connection has the beginning of a conversation, or the continued response. */
  continues(items: readonly string[], previous: string | undefined): boolean {
    if (!this.#known) return false
    const { id, count, digest } = this.#known
    if (previous !== undefined) return previous === JSON.stringify(id)
    return (
      items.length > count && count > 0 && digestOf(items.slice(0, count).map(digestOf).join()) === digest
    )
  }

  /**
   * Sends a request. `items`: items of its input. The items are given if the part already on the connection
   * may be left out.
   */
  send(job: Job, items: readonly string[]): void {
    this.#timer?.close()
    const previous = previousIn(job.body)
    const known = previous === undefined && this.continues(items, undefined) ? this.#known : null
    const message = omitMembers(job.body, [['stream'], ['stream_options']])
    const short = known
      ? spliceMembers(message, {
          previous_response_id: JSON.stringify(known.id),
          input: `[${items.slice(known.count).join()}]`,
        })
      : message
    const running: Running = {
      job,
      isShort: known !== null,
      output: new OutputCollector(digestOf),
      controller: this.#controller(() => running),
      hasBegun: false,
      isOver: false,
    }
    this.#running = running
    this.#latest = running
    this.#known = null
    job.handler.onRequestStart?.(running.controller, null)
    if (this.#running !== running) return // aborted before the request was sent
    job.handler.overSocket?.()
    this.#ws.send(`{"type":"response.create",${short.slice(short.indexOf('{') + 1)}`)
  }

  close(): void {
    this.#isClosed = true
    this.#ws.terminate()
  }

  #message(json: string): void {
    const running = this.#running
    if (!running) return // after the end, or a message that belongs to no response
    const { job, controller } = running
    const type = typeOf(json)
    if (!running.hasBegun) {
      if (type === 'error') {
        this.#refused(running, json)
        return
      }
      running.hasBegun = true
      job.handler.onResponseStart?.(controller, 200, {
        ...this.#headers,
        'content-type': 'text/event-stream',
      })
    }
    if (this.#running !== running) return // the handler gave up
    running.output.add(type, json)
    job.handler.onResponseData?.(controller, Buffer.from(eventOf(json)))
    if (!isEnd(type) || this.#running !== running) return
    this.#remember(running)
    this.#ws.resume() // the end of this response may be delayed; the next response must not be
    this.#free()
    job.handler.onResponseEnd?.(controller, {})
    running.isOver = true
  }

  /** Passes a refusal on as an answer with its status, unless the request can be sent again in full. */
  #refused(running: Running, json: string): void {
    const { job, controller, isShort } = running
    const { error, status, status_code, headers } = errorIn(json) // before the connection is free, because it may throw
    const code = (error as { code?: unknown } | undefined)?.code
    const shown = plainHeaders(headers)
    this.#free()
    const isOld = code === 'websocket_connection_limit_reached'
    if (isOld) this.close()
    if (!job.isAgain && (isOld || (isShort && code === 'previous_response_not_found'))) {
      running.isOver = true
      this.#events.again({ ...job, isAgain: true })
      return
    }
    const stated = status ?? status_code
    const number = typeof stated === 'number' || typeof stated === 'string' ? Number(stated) : 0
    const own = number >= 400 && number < 600 ? Math.trunc(number) : 400
    job.handler.onResponseStart?.(controller, own, { ...shown, 'content-type': 'application/json' })
    job.handler.onResponseData?.(controller, Buffer.from(JSON.stringify({ error })))
    job.handler.onResponseEnd?.(controller, {})
    running.isOver = true
  }

  #remember({ job, output }: Running): void {
    const { id, isComplete, items } = output
    if (!isComplete || id === null) return
    // Items of a conversation that begins at the provider are unknown here.
    const isWhole = previousIn(job.body) === undefined
    const all = isWhole ? [...inputItems(job.body).map(digestOf), ...items] : []
    this.#known = { id, count: all.length, digest: digestOf(all.join()) }
  }

  #free(): void {
    this.#running = null
    this.usedAt = clock.monotonic()
    const close = () => this.close()
    this.#timer = after(IDLE_MS, close, close).unref()
  }

  /** Handles the end of the connection. */
  #over(code: number): void {
    this.#isClosed = true
    this.#timer?.close()
    this.#events.closed()
    const running = this.#running
    this.#running = null
    if (!running) return
    running.isOver = true
    const { job, controller, hasBegun } = running
    // The request was too large for a message, so none of it was read.
    if (code === 1009 && !hasBegun) this.#events.overHttp(job)
    else {
      const error = Object.assign(new Error(`the socket was closed (${code})`), { code: 'UND_ERR_SOCKET' })
      job.handler.onResponseError?.(controller, error)
    }
  }

  #controller(running: () => Running): Controller {
    const abort = (reason: Error) => {
      if (!running().isOver) this.#fail(reason, running()) // only closing the connection stops the provider
    }
    return { abort, pause: () => this.#ws.pause(), resume: () => this.#ws.resume() } as Controller
  }
}

/** Controller of a request that was given up before it had a connection. */
const NO_CONTROLLER = { abort() {}, pause() {}, resume() {} } as unknown as Controller

/** Returns the members of an `error` message. Throws if it is not a JSON object. */
function errorIn(json: string): Readonly<Record<string, unknown>> {
  let read: unknown
  try {
    read = JSON.parse(json)
  } catch {
    // Reported below, without quoting the provider.
  }
  if (typeof read !== 'object' || read === null) throw new Error('a message is not JSON')
  return read as Readonly<Record<string, unknown>>
}

/** Returns the headers in an `error` message that are valid for HTTP. */
const plainHeaders = (headers: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(typeof headers === 'object' ? (headers ?? {}) : {}).flatMap(([name, value]) =>
      (typeof value === 'string' || typeof value === 'number') &&
      /^[\w-]+$/.test(name) &&
      /^[\t\x20-\x7e]{1,8192}$/.test(String(value))
        ? [[name.toLowerCase(), String(value)]]
        : [],
    ),
  )

/** A request that has been sent. */
interface Running {
  readonly job: Job
  /** True if the beginning of the conversation was left out. */
  readonly isShort: boolean
  readonly output: OutputCollector
  readonly controller: Controller
  hasBegun: boolean
  /** True once its handler has the end, or another connection has the request. */
  isOver: boolean
}

/** Returns the JSON text of the response id that a request continues; undefined if there is none. */
function previousIn(body: string): string | undefined {
  const previous = memberText(body, 'previous_response_id')
  return previous === 'null' ? undefined : previous
}

const digestOf = (text: string): string => hash('sha256', text, 'base64')

function pairs(headers: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let at = 0; at + 1 < headers.length; at += 2)
    found.push([headers[at]!.toLowerCase(), headers[at + 1]!])
  return found
}

/** Name of the protocol, as OpenAI writes it. */
const BETA = 'responses_websockets=2026-02-06'

function handshakeOf(headers: readonly [string, string][]): [string, string][] {
  const kept = headers.filter(([name]) => !PER_REQUEST.test(name) && name !== 'openai-beta')
  const betas = headers.filter(([name]) => name === 'openai-beta').map(([, value]) => value)
  return [...kept, ['openai-beta', [...betas, BETA].join(',')]]
}

/** Returns the body, with the message's headers in its `client_metadata`. */
function withMetadata(body: string, headers: readonly [string, string][]): string {
  const own = headers.flatMap(([name, value]): [string, string][] => {
    if (name.startsWith('x-codex-turn-')) return [[name, value]]
    if (!name.startsWith('x-openai-internal-')) return []
    return [[`ws_request_header_${name.replaceAll('-', '_')}`, value]]
  })
  if (own.length === 0) return body
  return spliceMembers(body, {
    client_metadata: (before = '{}') =>
      JSON.stringify({ ...Object.fromEntries(own), ...(JSON.parse(before) ?? {}) }),
  })
}
