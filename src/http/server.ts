// The only file that knows polka: mounts endpoints, admits requests, turns all errors into one format. Over 250 lines,
// because calls, reads and all other requests are admitted in one place.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Duplex } from 'node:stream'
import polka, { type Request } from 'polka'
import type { z } from 'zod'
import { idOf } from '../call.ts'
import { asGatewayError, GatewayError } from '../errors.ts'
import { JsonText } from '../json/json-text.ts'
import type { Authenticate, Caller } from './auth.ts'
import type { CallSlot, CallSlots } from './call-slots.ts'
import { serveInTurn } from './connection.ts'
import type {
  Admitted,
  AdmittedOther,
  AdmittedRead,
  AnyReadEndpoint,
  CallEndpoint,
  ErrorWording,
  OtherEndpoint,
} from './endpoint.ts'
import { dropBody } from './pieces.ts'
import { replyError, replyJson } from './reply.ts'
import { createUntaken } from './untaken.ts'

export interface ServerOptions<Read, Live> {
  readonly reads: readonly AnyReadEndpoint<Read>[]
  readonly calls: readonly CallEndpoint<Live>[]
  readonly others: readonly OtherEndpoint<Read>[]
  /** What follows from the configuration that is in force; asked once per request, which keeps it to its end. */
  readonly context: () => RequestContext<Read, Live>
  /** How the client of a request to a path of no dialect wants errors to be worded. */
  readonly wordingOf: (headers: IncomingHttpHeaders) => ErrorWording
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** How long a client may take for the headers of a request, and for the whole of it, ms. */
  readonly headersTimeout: number
  readonly requestTimeout: number
  /** Room for open calls and their bodies. */
  readonly slots: CallSlots
  /** Room for reads: each may keep the thread that reads busy for a while. */
  readonly readSlots: CallSlots
  /** A call was turned away before it was on record; `caller` is null if no key was accepted. */
  readonly onRefused: (error: GatewayError, refused: RefusedCall) => void
  /** A call is over, whatever became of it. */
  readonly onCallOver: (requestId: string) => void
  /** A failure that is not the client's, and its cause: for the gateway's own log. */
  readonly onInternalError: (error: unknown, requestId: string) => void
}

export interface RefusedCall {
  readonly requestId: string
  readonly caller: Caller | null
  readonly path: string
}

export interface RequestContext<Read, Live> {
  /** What read endpoints may use. */
  readonly readContext: Read
  /** What call endpoints may use. */
  readonly callContext: Live
  /** Says who is calling; throws for a key that is not known. */
  readonly authenticate: Authenticate
  /** Throws for a foreign Host or Origin. */
  readonly guard: (request: IncomingMessage) => void
  /** A client that takes nothing of its answer for this long is given up, ms. */
  readonly idle: number
}

type Handler<Read, Live> = (
  admitted: AdmittedOther,
  response: ServerResponse,
  context: RequestContext<Read, Live>,
) => void | Promise<void>

interface Admission {
  /** Answers without a key and under any Host. */
  readonly open?: boolean
  /** Answers without a key. */
  readonly keyless?: boolean
  /** Absent: as the client of the request has it. */
  readonly wording?: ErrorWording
  /** The parameter of the query that may hold the key. */
  readonly keyParameter?: string | undefined
}

const ANYBODY: Caller = { name: null, role: 'client' }

/** Builds the server; it does not listen yet. */
export function createHttpServer<Read, Live>(options: ServerOptions<Read, Live>): Server {
  const { reads, calls, others, context, wordingOf, now, slots, readSlots } = options
  const { onRefused, onCallOver, onInternalError } = options
  const { headersTimeout, requestTimeout } = options
  const giveUpUntaken = createUntaken()

  /** Throws where a request is not let in, whoever makes it. */
  const look = (request: Request, { guard }: RequestContext<Read, Live>, keyParameter?: string): void => {
    refuseWithoutHost(request)
    guard(request)
    refuseKeyInUrl(request.query, keyParameter)
  }
  const asError = (thrown: unknown, requestId: string): GatewayError => {
    const error = asGatewayError(thrown)
    if (error.cause !== undefined) onInternalError(error, requestId)
    return error
  }

  /** Wraps a handler: let the request in, run it, answer for what it throws. */
  const admit = (
    { open = false, keyless = open, wording, keyParameter }: Admission,
    handler: Handler<Read, Live>,
  ) => {
    return async (request: Request, response: ServerResponse) => {
      const requestId = idOf(now())
      const current = context()
      try {
        dropBody(request)
        if (open) refuseWithoutHost(request)
        else look(request, current, keyParameter)
        // What is under /v1 belongs to the clients of models, so the page has no business there.
        const use = request.path.startsWith('/v1/') ? 'call' : 'read'
        const keyInQuery = keyIn(request, keyParameter)
        const caller = keyless ? ANYBODY : current.authenticate(request, use, keyInQuery)
        const authenticate = () => context().authenticate(request, use)
        await handler({ request, caller, requestId, ...placesOf(request), authenticate }, response, current)
      } catch (thrown) {
        const error = asError(thrown, requestId)
        replyError(response, error, requestId, wording ?? wordingOf(request.headers))
      }
      giveUpUntaken(response, current.idle)
    }
  }

  /** A call from the moment in which it arrives to its end. */
  class ArrivedCall implements Admitted {
    readonly requestId = idOf(now())
    readonly path: string
    readonly request: Request
    readonly rest: string
    readonly query: string
    caller!: Caller
    slot!: CallSlot
    readonly #endpoint: CallEndpoint<Live>
    readonly #response: ServerResponse
    readonly #context = context()

    constructor(endpoint: CallEndpoint<Live>, request: Request, response: ServerResponse) {
      this.path = endpoint.path
      this.request = request
      const { rest, query } = placesOf(request)
      this.rest = rest
      this.query = query
      this.#endpoint = endpoint
      this.#response = response
    }

    handle(): void {
      try {
        const { keyParameter } = this.#endpoint
        look(this.request, this.#context, keyParameter)
        const keyInQuery = keyIn(this.request, keyParameter)
        this.caller = this.#context.authenticate(this.request, 'call', keyInQuery)
        this.slot = slots.take(this.caller.name)
        this.#endpoint.handle(this, this.#response, this.#context.callContext)
      } catch (thrown) {
        this.refuse(thrown)
      }
    }

    refuse(thrown: unknown): void {
      const { requestId, caller = null, request } = this
      const error = asError(thrown, requestId)
      onRefused(error, { requestId, caller, path: request.path })
      replyError(this.#response, error, requestId, this.#endpoint)
      this.over()
    }

    over(): void {
      this.slot?.leave()
      onCallOver(this.requestId)
      giveUpUntaken(this.#response, this.#context.idle)
    }
  }

  const notAllowed = (admission: Admission, allow: string) =>
    admit(admission, ({ request, requestId }, response) => {
      // Codex tries a WebSocket first, and goes on at once with POST after this status only. What else came is not read.
      if (request.headers.upgrade?.toLowerCase() === 'websocket') {
        const error = new GatewayError('upgrade_refused', `WebSocket is not supported here; send ${allow}.`)
        const wording = admission.wording ?? wordingOf(request.headers)
        replyError(response, error, requestId, wording, { upgrade: 'HTTP/1.1', connection: 'upgrade, close' })
        return
      }
      if (request.method === 'OPTIONS') {
        response.writeHead(204, { allow }).end()
        return
      }
      const error = new GatewayError(
        'method_not_allowed',
        `${request.method} is not allowed here, only ${allow}.`,
      )
      replyError(response, error, requestId, admission.wording ?? wordingOf(request.headers), { allow })
    })

  const app = polka({
    onNoMatch: admit({}, () => {
      const served = calls.map(({ path }) => `POST ${path}`).join(', ')
      throw new GatewayError(
        'not_found',
        `There is nothing at this path. Calls go to ${served}; GET /openapi.json lists all paths.`,
      )
    }),
  })
  // Calls first: polka tries one path after the other.
  for (const endpoint of calls) {
    const path = patternOf(endpoint.path)
    app.post(path, (request, response) => new ArrivedCall(endpoint, request, response).handle())
    app.all(path, notAllowed({ wording: endpoint, keyParameter: endpoint.keyParameter }, 'POST, OPTIONS'))
  }
  for (const { path, open = false, keyParameter, mediaType, query, answer } of reads) {
    app.get(
      path,
      admit({ open, keyParameter }, async (admitted, response, { readContext }) => {
        const parsed = parseQuery(query, (admitted.request as Request).query)
        const slot = open ? null : readSlots.take(admitted.caller.name)
        try {
          const said = await answer(parsed, admitted, readContext)
          if (mediaType) replyJson(response, 200, said as string, { 'content-type': mediaType })
          else replyJson(response, 200, said instanceof JsonText ? said.text : JSON.stringify(said))
        } finally {
          slot?.leave()
        }
      }),
    )
    app.all(path, notAllowed({ open, keyParameter }, 'GET, HEAD, OPTIONS'))
  }
  for (const { method, path, keyless = false, query: schema, handle } of others) {
    app.add(
      method,
      path,
      admit({ keyless }, (admitted, response, { readContext }) => {
        parseQuery(schema, (admitted.request as Request).query)
        return handle(admitted, response, readContext)
      }),
    )
    app.all(path, notAllowed({ keyless }, method === 'GET' ? 'GET, HEAD, OPTIONS' : `${method}, OPTIONS`))
  }

  const server = createServer({
    keepAliveTimeout: 75_000,
    headersTimeout,
    requestTimeout,
    // Node looks for slow clients every so often, by itself only twice a minute.
    connectionsCheckingInterval: Math.min(1_000, headersTimeout, requestTimeout),
    requireHostHeader: false, // Node's own refusal has no body
  })
  // Without the third argument polka handles the request to its end; its types do not know.
  serveInTurn(server, app.handler as unknown as RequestListener)
  server.on('clientError', answerBrokenRequest)
  return server
}

/** What the URL has in addition to the path of the endpoint. */
const placesOf = ({ params, search }: Request): Pick<AdmittedRead, 'rest' | 'query'> => ({
  rest: params.rest ?? params['*'] ?? '',
  query: search?.slice(1) ?? '',
})

/** polka knows a `*` as a whole segment only. */
function patternOf(path: string): string | RegExp {
  const [before, after] = path.split('*')
  return after?.startsWith(':') ? new RegExp(`^${before}(?<rest>.+)${after}/?$`) : path
}

const keyIn = ({ query }: Request, name: string | undefined): unknown =>
  name === undefined ? undefined : query[name]

function parseQuery<Query extends z.ZodType>(schema: Query, query: unknown): z.output<Query> {
  const parsed = schema.safeParse(query)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  const param = issue.code === 'unrecognized_keys' ? issue.keys[0]! : String(issue.path[0] ?? '')
  const message = issue.code === 'unrecognized_keys' ? 'no such query parameter' : issue.message
  throw new GatewayError('invalid_request', `${JSON.stringify(param)}: ${message}`, { param })
}

/** RFC 9112, 3.2; an HTTP/1.0 client need not send one, and is then not called by a name of ours. */
function refuseWithoutHost({ headers, httpVersionMinor }: IncomingMessage): void {
  if (headers.host === undefined && httpVersionMinor > 0)
    throw new GatewayError('invalid_request', 'The request has no Host header.')
}

/** A key in a URL ends in histories and logs, so it is not even looked at, but where the clients of a dialect send it so. */
function refuseKeyInUrl(query: Record<string, unknown>, allowed?: string): void {
  if (
    Object.keys(query).some(
      (name) => name !== allowed && /^(api[-_]?key|key|(access[-_]?)?token)$/i.test(name),
    )
  )
    throw new GatewayError(
      'invalid_request',
      'A key in the URL is refused. Send it as `Authorization: Bearer KEY`, and replace it, because it may have been logged.',
    )
}

const BROKEN: Record<string, [number, string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout'],
  HPE_HEADER_OVERFLOW: [431, 'invalid_request'],
}

/** A request that is not even HTTP never reaches a handler; Node hands over the bare socket. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Node keeps the response that is being written there; nothing may be written between its parts.
  const running = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage
  if (error.code === 'ECONNRESET' || !socket.writable || running?.headersSent) {
    socket.destroy()
    return
  }
  const [status, code] = BROKEN[error.code ?? ''] ?? [400, 'invalid_request']
  const message = `The request is invalid: ${STATUS_CODES[status]}.`
  const body = JSON.stringify({
    error: { message, type: 'invalid_request_error', param: null, code },
    request_id: idOf(Date.now()),
  })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}
