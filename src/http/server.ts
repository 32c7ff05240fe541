// The only file that knows polka. Mounts endpoints, admits requests, and formats all errors in the same way.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import polka, { type Polka, type Request } from 'polka'
import type { z } from 'zod'
import { idOf } from '../core/call.ts'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import { on, REPORTED, stray } from '../shared/boundary.ts'
import { safeJson } from '../terminal/clean.ts'
import { asksForWebSocket } from '../websocket/handshake.ts'
import type { Authenticate } from './auth.ts'
import { dropBody } from './body.ts'
import type { CallSlot, CallSlots } from './call-slots.ts'
import type { Caller } from './caller.ts'
import { answerBrokenRequest, serveInTurn } from './connection.ts'
import {
  type Admitted,
  type AdmittedOther,
  type AdmittedRead,
  type AnyReadEndpoint,
  type CallEndpoint,
  type ErrorWording,
  JsonText,
  type OtherEndpoint,
} from './endpoint.ts'
import type { KeyGuard } from './guards.ts'
import { giveUpUnread, NOSNIFF, replyError, replyJson, replyTagged } from './reply.ts'
import type { WebSockets } from './web-sockets.ts'

interface ServerOptions<Read, Live> {
  readonly reads: readonly AnyReadEndpoint<Read>[]
  readonly calls: readonly CallEndpoint<Live>[]
  readonly others: readonly OtherEndpoint<Read>[]
  /** Answers a browser at an address without a page. */
  readonly nowhere: OtherEndpoint<Read>['handle']
  /**
   * Returns the context of the current configuration. Called once for each request, which uses this context
   * until its end.
   */
  readonly context: () => RequestContext<Read, Live>
  /** Returns the wording of errors for a request to a path of no dialect. */
  readonly wordingOf: (headers: IncomingHttpHeaders) => ErrorWording
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Maximum time for the headers of a request and for the whole request, ms. */
  readonly headersTimeout: number
  readonly requestTimeout: number
  /** Slots for open calls and their bodies. */
  readonly slots: CallSlots
  /** WebSockets of clients, at the paths of endpoints that accept them. */
  readonly webSockets: WebSockets
  /** Slots for reads, because each may occupy the reading thread for a while. */
  readonly readSlots: CallSlots
  /** Reports a call that was refused before it was on record; `caller` is null if no key was accepted. */
  readonly onRefused: (error: GatewayError, refused: RefusedCall) => void
  /** Reports that a call has ended, with any result. */
  readonly onCallOver: (requestId: string) => void
  /** Reports a failure that the client did not cause, with its cause, for the process log. */
  readonly onInternalError: (error: unknown, requestId: string) => void
}

export interface RefusedCall {
  readonly requestId: string
  readonly caller: Caller | null
  readonly path: string
}

export interface RequestContext<Read, Live> {
  /** Context for read endpoints. */
  readonly readContext: Read
  /** Context for call endpoints. */
  readonly callContext: Live
  /** Returns the caller; throws for an unknown key. */
  readonly authenticate: Authenticate
  /** Throws for a foreign Host or Origin. */
  readonly guard: (request: IncomingMessage) => void
  /** Throws for a key in the URL. */
  readonly keyGuard: Pick<KeyGuard, 'url'>
  /** Maximum time for which a client may read nothing of its answer before it is disconnected, ms. */
  readonly idle: number
}

type Handler<Read, Live> = (
  admitted: AdmittedOther,
  response: ServerResponse,
  context: RequestContext<Read, Live>,
) => void | Promise<void>

interface Admission {
  /** True to answer without a key and under any Host. */
  readonly open?: boolean
  /** True to answer without a key. */
  readonly keyless?: boolean
  /** Wording of errors; by default, the wording for the request's client. */
  readonly wording?: ErrorWording
  /** Query parameter that may contain the key. */
  readonly keyParameter?: string | undefined
}

const ANYBODY: Caller = { name: null, role: 'client' }

/** Builds the server without listening. */
export function createHttpServer<Read, Live>(options: ServerOptions<Read, Live>): Server {
  const { headersTimeout, requestTimeout } = options
  const callerOf = upgradesOf(options)
  const server = createServer({
    // Any other upgrade request is answered like a request without an upgrade.
    shouldUpgradeCallback: (request) => callerOf(request) !== null,
    keepAliveTimeout: 75_000,
    headersTimeout,
    requestTimeout,
    // Interval of the check for slow clients; Node's default is 30 s.
    connectionsCheckingInterval: Math.min(1_000, headersTimeout, requestTimeout),
    requireHostHeader: false, // Node's own refusal of a request has no body
  })
  serveInTurn(server, createHandler(options))
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    options.webSockets.open(server, request, socket, head, callerOf(request)?.name ?? null)
  on(server, { upgrade, clientError: answerBrokenRequest }, (_, __: unknown, socket: Duplex) =>
    socket.destroy(),
  )
  return server
}

/** Returns a function that finds the caller of an upgrade; null for an upgrade that cannot be accepted. */
function upgradesOf<Read, Live>({ calls, context, webSockets }: ServerOptions<Read, Live>) {
  const paths = calls.filter(({ hasWebSocket }) => hasWebSocket).map(({ path }) => path)
  return (request: IncomingMessage): Caller | null => {
    const url = request.url ?? ''
    if (!asksForWebSocket(request) || !paths.includes(url.replace(/\?.*$/s, ''))) return null
    try {
      const current = context()
      look(request, url, current)
      const caller = current.authenticate(request, 'call')
      return webSockets.hasRoom(caller.name) ? caller : null
    } catch {
      return null // the request handler words the refusal
    }
  }
}

/** Returns the listener for all requests. A call to an endpoint's exact path needs no search. */
function createHandler<Read, Live>(options: ServerOptions<Read, Live>): RequestListener {
  const ArrivedCall = arrivedCallsOf(options)
  // Without the third argument, polka handles the request to its end, contrary to its types.
  const search = createApp(options, ArrivedCall).handler as unknown as RequestListener
  const endpoints = new Map(options.calls.map((endpoint) => [endpoint.path, endpoint]))
  return (request, response) => {
    const endpoint = request.method === 'POST' ? endpoints.get(request.url!) : undefined
    if (endpoint && isOpen(endpoint, options))
      new ArrivedCall(endpoint, request, response, NO_PLACES).handle()
    else {
      if (request.url!.startsWith(`${KEEP}/`)) {
        request.url = request.url!.slice(KEEP.length)
        kept.add(request)
      }
      search(request, response)
    }
  }
}

/** Before the path of a request: the client asks to keep the call. */
const KEEP = '/keep'
/** Requests with this mark. */
const kept = new WeakSet<IncomingMessage>()

/** Returns true if the current configuration has an endpoint. */
const isOpen = <Read, Live>(
  { isOpen }: CallEndpoint<Live>,
  { context }: Pick<ServerOptions<Read, Live>, 'context'>,
): boolean => isOpen === undefined || isOpen(context().callContext)

type CallArrivals<Live> = ReturnType<typeof arrivedCallsOf<unknown, Live>>

/** Mounts all endpoints. */
function createApp<Read, Live>(options: ServerOptions<Read, Live>, ArrivedCall: CallArrivals<Live>): Polka {
  const { calls, nowhere } = options
  const doors = createDoors(options)
  const { admit } = doors
  const nothingHere = admit({}, () => {
    const served = calls.flatMap(({ path, methods }) => (methods ? [] : [`POST ${path}`])).join(', ')
    throw new GatewayError(
      'not_found',
      `There is nothing at this path. Calls go to ${served}; GET /openapi.json lists all paths.`,
    )
  })
  const noSessions = admit({ keyParameter: 'key' }, () => {
    throw new GatewayError(
      'not_found',
      'Waybill relays no Live or Realtime session, because what a session spends cannot yet be recorded before it is sent.',
    )
  })
  const lostReader = admit({ keyless: true }, (admitted, response, { readContext }) =>
    nowhere(admitted, response, readContext),
  )
  const app = polka({
    // polka's own handler would send the message to the client.
    onError(error, _, response) {
      stray(error)
      response.destroy()
    },
    onNoMatch: (request, response) =>
      (isSession(request) ? noSessions : isReader(request) ? lostReader : nothingHere)(request, response),
  })
  // Polka tries paths in order: this one has the form of a stored interaction's.
  for (const version of ['v1', 'v1beta', 'v1alpha']) app.all(`/${version}/interactions/live`, noSessions)
  // Calls are added before other endpoints.
  mountCalls(app, options, doors, ArrivedCall, nothingHere)
  mountReads(app, options, doors)
  mountOthers(app, options, doors)
  return app
}

function mountCalls<Read, Live>(
  app: Polka,
  options: ServerOptions<Read, Live>,
  { notAllowed }: Doors<Read, Live>,
  ArrivedCall: CallArrivals<Live>,
  nothingHere: ReturnType<Doors<Read, Live>['admit']>,
): void {
  for (const endpoint of options.calls) {
    const path = patternOf(endpoint.path)
    const { methods = ['POST'] } = endpoint
    for (const method of methods)
      app.add(method, path, (request, response) => {
        if (!isOpen(endpoint, options)) return nothingHere(request, response)
        const isKept = kept.has(request)
        const places = { ...placesOf(request), keyInQuery: keyIn(request, endpoint.keyParameter), isKept }
        new ArrivedCall(endpoint, request, response, places).handle()
      })
    const allow = [...methods, 'OPTIONS'].join(', ')
    const refuse = notAllowed({ wording: endpoint, keyParameter: endpoint.keyParameter }, allow)
    app.all(path, (request, response) =>
      (isOpen(endpoint, options) ? refuse : nothingHere)(request, response),
    )
  }
}

function mountReads<Read, Live>(
  app: Polka,
  { reads, readSlots }: ServerOptions<Read, Live>,
  { admit, notAllowed }: Doors<Read, Live>,
): void {
  for (const { path, open = false, keyParameter, hasEtag, mediaType, query, answer } of reads) {
    app.get(
      path,
      admit({ open, keyParameter }, async (admitted, response, { readContext }) => {
        const parsed = parseQuery(query, (admitted.request as Request).query)
        const slot = open ? null : readSlots.take(admitted.caller.name)
        try {
          const said = await answer(parsed, admitted, readContext)
          if (mediaType) replyJson(response, 200, said as string, { 'content-type': mediaType })
          else {
            const json = safeJson(said instanceof JsonText ? said.text : JSON.stringify(said))
            if (hasEtag) replyTagged(admitted.request, response, json)
            else replyJson(response, 200, json)
          }
        } finally {
          slot?.leave()
        }
      }),
    )
    app.all(path, notAllowed({ open, keyParameter }, 'GET, HEAD, OPTIONS'))
  }
}

function mountOthers<Read, Live>(
  app: Polka,
  { others }: ServerOptions<Read, Live>,
  { admit, notAllowed }: Doors<Read, Live>,
): void {
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
}

/** Throws if a request is not admitted, for any caller. `places`: the sender's parts of the URL. */
function look<Read, Live>(
  request: IncomingMessage,
  places: string,
  { guard, keyGuard }: RequestContext<Read, Live>,
  keyParameter?: string,
): void {
  refuseWithoutHost(request)
  guard(request)
  keyGuard.url(places, request.headers, keyParameter)
}

/** Returns an error in the form that the client receives. Logs an error that the client did not cause. */
function asError(
  thrown: unknown,
  requestId: string,
  { onInternalError }: Pick<ServerOptions<never, never>, 'onInternalError'>,
): GatewayError {
  const error = asGatewayError(thrown)
  if (error.cause !== undefined) onInternalError(error, requestId)
  return error
}

type Doors<Read, Live> = ReturnType<typeof createDoors<Read, Live>>

/** Makes the functions that admit requests, for an endpoint and for other methods of its path. */
function createDoors<Read, Live>(options: ServerOptions<Read, Live>) {
  const { context, wordingOf, now } = options

  /** Wraps a handler: admits the request, runs it, and answers its exceptions. */
  const admit = (
    { open = false, keyless = open, wording, keyParameter }: Admission,
    handler: Handler<Read, Live>,
  ) => {
    return async (request: Request, response: ServerResponse) => {
      const requestId = idOf(now())
      const current = context()
      let caller = ANYBODY
      try {
        dropBody(request)
        if (open) refuseWithoutHost(request)
        else look(request, request.url, current, keyParameter)
        // Paths under /v1 are for clients of models, so they accept no page tokens.
        const use = request.path.startsWith('/v1/') ? 'call' : 'read'
        const keyInQuery = keyIn(request, keyParameter)
        if (!keyless) caller = current.authenticate(request, use, keyInQuery)
        const authenticate = () => context().authenticate(request, use)
        await handler({ request, caller, requestId, ...placesOf(request), authenticate }, response, current)
      } catch (thrown) {
        const error = asError(thrown, requestId, options)
        replyError(response, error, requestId, wording ?? wordingOf(request.headers))
      }
      giveUpUnread(response, caller.name, current.idle)
    }
  }

  const notAllowed = (admission: Admission, allow: string) =>
    admit(admission, ({ request, requestId }, response) => {
      // Codex tries a WebSocket first. Only after this status does it continue immediately with POST.
      if (request.headers.upgrade?.toLowerCase() === 'websocket') {
        const error = new GatewayError('upgrade_refused', `WebSocket is not supported here; send ${allow}.`)
        const wording = admission.wording ?? wordingOf(request.headers)
        replyError(response, error, requestId, wording, { upgrade: 'HTTP/1.1', connection: 'upgrade, close' })
        return
      }
      if (request.method === 'OPTIONS') {
        response.writeHead(204, { ...NOSNIFF, allow }).end()
        return
      }
      const error = new GatewayError(
        'method_not_allowed',
        `${request.method} is not allowed here, only ${allow}.`,
      )
      replyError(response, error, requestId, admission.wording ?? wordingOf(request.headers), { allow })
    })

  return { admit, notAllowed }
}

/** Makes the class that represents a server's calls. */
function arrivedCallsOf<Read, Live>(options: ServerOptions<Read, Live>) {
  const { context, now, slots, onRefused, onCallOver } = options

  /** A call, from its arrival to its end. */
  return class ArrivedCall implements Admitted {
    readonly requestId = idOf(now())
    readonly path: string
    readonly request: IncomingMessage
    readonly rest: string
    readonly query: string
    readonly isKept: boolean
    caller!: Caller
    slot!: CallSlot
    readonly #endpoint: CallEndpoint<Live>
    readonly #response: ServerResponse
    readonly #keyInQuery: unknown
    readonly #context = context()

    constructor(
      endpoint: CallEndpoint<Live>,
      request: IncomingMessage,
      response: ServerResponse,
      { rest, query, keyInQuery, isKept }: CallPlaces,
    ) {
      this.path = endpoint.path
      this.request = request
      this.rest = rest
      this.query = query
      this.isKept = isKept
      this.#keyInQuery = keyInQuery
      this.#endpoint = endpoint
      this.#response = response
    }

    handle(): void {
      try {
        const { keyParameter } = this.#endpoint
        const { rest, query } = this
        look(this.request, query === '' ? rest : `${rest}?${query}`, this.#context, keyParameter)
        this.caller = this.#context.authenticate(this.request, 'call', this.#keyInQuery)
        this.slot = slots.take(this.caller.name)
        this.#endpoint.handle(this, this.#response, this.#context.callContext)
      } catch (thrown) {
        this.refuse(thrown)
      }
    }

    refuse(thrown: unknown): typeof REPORTED {
      try {
        this.#refuse(thrown)
      } catch (second) {
        stray(second)
        this.#response.destroy()
      }
      return REPORTED
    }

    #refuse(thrown: unknown): void {
      const { requestId, caller = null, path } = this
      const error = asError(thrown, requestId, options)
      onRefused(error, {
        requestId,
        caller,
        path: path.replace('*', this.#endpoint.methods ? '{id}' : '{model}'),
      })
      const wording = this.#endpoint.wordingFor?.(this.request.headers) ?? this.#endpoint
      replyError(this.#response, error, requestId, wording)
      this.over()
    }

    over(): void {
      this.slot?.leave()
      onCallOver(this.requestId)
      giveUpUnread(this.#response, this.caller?.name ?? null, this.#context.idle)
    }
  }
}

/** Paths of OpenAI's and Google's sessions, and of the short-lived keys with which clients open them elsewhere. */
const SESSIONS = /^\/(v1\w*\/(realtime|live|auth_tokens)(\/|$)|ws\/google\.)/

/** Returns true for a session in which a provider spends money without a request for each answer. */
const isSession = ({ path }: Request): boolean => SESSIONS.test(path)

/** Returns true for a person with a browser, at an address that is not for programs. */
const isReader = ({ method, path, headers }: Request): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  /\btext\/html\b/.test(headers.accept ?? '') &&
  !/^\/(api|page|v1\w*)(\/|$)/.test(path)

/** Returns the parts of the URL after the path of the endpoint. */
const placesOf = ({ params, search }: Request): Pick<AdmittedRead, 'rest' | 'query'> => ({
  rest: params.rest ?? params['*'] ?? '',
  query: search?.slice(1) ?? '',
})

/** Parts of a call's URL that the sender chose. */
interface CallPlaces extends Pick<Admitted, 'rest' | 'query' | 'isKept'> {
  readonly keyInQuery: unknown
}

const NO_PLACES: CallPlaces = { rest: '', query: '', keyInQuery: undefined, isKept: false }

/** polka supports `*` only as a whole segment. */
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

/** RFC 9112, 3.2 requires a Host. An HTTP/1.0 client may omit it, but then it names none of our hosts. */
function refuseWithoutHost({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): void {
  if (headers.host === undefined && httpVersionMinor > 0)
    throw new GatewayError('invalid_request', 'The request has no Host header.')
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at]!)) hosts++
  if (hosts > 1) throw new GatewayError('invalid_request', 'The request has more than one Host header.')
}

const isHost = (name: string): boolean => name.length === 4 && name.toLowerCase() === 'host'
