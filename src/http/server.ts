// The only file that knows polka: mounts endpoints, lets requests in, turns whatever goes wrong into one shape.
import {
  createServer,
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
import type { Caller } from './auth.ts'
import type { Admitted, AnyReadEndpoint, CallEndpoint } from './endpoint.ts'
import { replyError, replyJson } from './reply.ts'

export interface ServerOptions<Read, Live> {
  readonly reads: readonly AnyReadEndpoint<Read>[]
  readonly calls: readonly CallEndpoint<Live>[]
  /** What follows from the configuration that is in force; asked once per request, which keeps it to its end. */
  readonly context: () => RequestContext<Read, Live>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** How long a client may take for the headers of a request, and for the whole of it, ms. */
  readonly headersTimeout: number
  readonly requestTimeout: number
  /** A call was turned away before it was on record. */
  readonly onRefused: (error: GatewayError) => void
  /** A failure that is not the client's: for the gateway's own log. */
  readonly onInternalError: (error: unknown, requestId: string) => void
}

export interface RequestContext<Read, Live> {
  /** What read endpoints may use. */
  readonly readContext: Read
  /** What call endpoints may use. */
  readonly callContext: Live
  /** Says who is calling; throws for a key that is not known. */
  readonly authenticate: (request: IncomingMessage) => Caller
  /** Throws for a foreign Host or Origin. */
  readonly guard: (request: IncomingMessage) => void
}

type Handler<Read, Live> = (
  admitted: Admitted,
  response: ServerResponse,
  context: RequestContext<Read, Live>,
) => void | Promise<void>

interface Admission {
  /** Answers without a key and under any Host. */
  readonly open?: boolean
  /** A call: being refused here is all that is ever heard of it. */
  readonly call?: boolean
}

const ANYBODY: Caller = { name: null, role: 'client' }

/** Builds the server; it does not listen yet. */
export function createHttpServer<Read, Live>(options: ServerOptions<Read, Live>): Server {
  const { reads, calls, context, now, onRefused, onInternalError } = options
  const { headersTimeout, requestTimeout } = options

  /** Wraps a handler: let the request in, run it, answer for what it throws. */
  const admit = ({ open = false, call = false }: Admission, handler: Handler<Read, Live>) => {
    return async (request: Request, response: ServerResponse) => {
      const requestId = idOf(now())
      const current = context()
      try {
        if (!open) {
          current.guard(request)
          refuseKeyInUrl(request.query)
        }
        const caller = open ? ANYBODY : current.authenticate(request)
        const rest = request.params['*'] ?? ''
        await handler({ request, caller, requestId, rest }, response, current)
      } catch (thrown) {
        const error = asGatewayError(thrown)
        if (error.cause !== undefined) onInternalError(error.cause, requestId)
        // A call that failed inside the gateway is on record; every other way to end here comes before the record.
        if (call && error.code !== 'internal') onRefused(error)
        replyError(response, error, requestId)
      }
    }
  }
  const notAllowed = (admission: Admission, allow: string) =>
    admit(admission, ({ request, requestId }, response) => {
      if (request.method === 'OPTIONS') {
        response.writeHead(204, { allow }).end()
        return
      }
      const error = new GatewayError(
        'method_not_allowed',
        `${request.method} is not served here, only ${allow}.`,
      )
      replyError(response, error, requestId, { allow })
    })

  const app = polka({
    onNoMatch: admit({}, () => {
      throw new GatewayError('not_found', 'There is nothing at this path.')
    }),
  })
  for (const { path, open = false, mediaType, query, answer } of reads) {
    app.get(
      path,
      admit({ open }, async (admitted, response, { readContext }) => {
        const parsed = parseQuery(query, (admitted.request as Request).query)
        const said = await answer(parsed, admitted, readContext)
        if (mediaType) replyJson(response, 200, said as string, { 'content-type': mediaType })
        else replyJson(response, 200, JSON.stringify(said))
      }),
    )
    app.all(path, notAllowed({ open }, 'GET, HEAD, OPTIONS'))
  }
  for (const { path, handle } of calls) {
    app.post(
      path,
      admit({ call: true }, (admitted, response, { callContext }) => handle(admitted, response, callContext)),
    )
    app.all(path, notAllowed({}, 'POST, OPTIONS'))
  }

  // Without the third argument polka handles the request to its end; its types do not know.
  const handle = app.handler as unknown as RequestListener
  const server = createServer(
    {
      keepAliveTimeout: 75_000,
      headersTimeout,
      requestTimeout,
      // Node looks for slow clients every so often, by itself only twice a minute.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout, requestTimeout),
    },
    handle,
  )
  server.on('checkExpectation', handle) // Node's own answer to an unknown `Expect` has no body; it may be ignored
  server.on('clientError', answerBrokenRequest)
  return server
}

function parseQuery<Query extends z.ZodType>(schema: Query, query: unknown): z.output<Query> {
  const parsed = schema.safeParse(query)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  const param = issue.code === 'unrecognized_keys' ? issue.keys[0]! : String(issue.path[0] ?? '')
  const message = issue.code === 'unrecognized_keys' ? 'no such query parameter' : issue.message
  throw new GatewayError('invalid_request', `${JSON.stringify(param)}: ${message}`, { param })
}

/** A key in a URL ends in histories and logs, so it is not even looked at. */
function refuseKeyInUrl(query: Record<string, unknown>): void {
  if (Object.keys(query).some((name) => /^(api[-_]?key|key|(access[-_]?)?token)$/i.test(name)))
    throw new GatewayError(
      'invalid_request',
      'A key in the URL is refused; send it as `Authorization: Bearer KEY`, and replace it, for it may have been logged.',
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
  const message = `The request is not usable: ${STATUS_CODES[status]}.`
  const body = JSON.stringify({
    error: { message, type: 'invalid_request_error', param: null, code },
    request_id: idOf(Date.now()),
  })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}
