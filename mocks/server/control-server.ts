// Control port of the mock: offers the same stage as in a process, over HTTP and JSON. Serves programs on
// this machine only: a request with a foreign Host or Origin comes from a web page and is refused.
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { z } from 'zod'
import { clock } from '../../src/shared/clock.ts'
import type { LedgerPage } from '../ledger.ts'
import { listDeviations } from '../scenarios/deviations.ts'
import type { MockControls } from './core.ts'
import { ScriptError } from './script.ts'

/** Input of a route: the matches of its path, the query, and the body as text. */
interface ControlRequest {
  readonly name: string
  readonly query: URLSearchParams
  readonly text: string
}

/** Stage that the control port can change. */
type Controlled = MockControls & { setReachable(reachable: boolean): Promise<void> }

type Route = readonly [method: string, path: RegExp, act: (asked: ControlRequest) => unknown]

/** Error of the caller. */
class RefusedError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const sinceSchema = z.coerce.number().int().nonnegative()

/** Creates a server that is not listening yet. */
export function createControlServer(
  stage: Controlled,
  connections: () => number,
  contextOf: (name: string) => MockControls,
): Server {
  const routesOf = (stage: MockControls): readonly Route[] => [
    ['GET', /^\/ledger$/, ({ query }) => page(stage, query, connections())],
    ['DELETE', /^\/ledger$/, () => stage.clear()],
    ['GET', /^\/sum$/, () => stage.sum()],
    ['PUT', /^\/chaos$/, ({ text }) => stage.chaos(json(text))],
    ['POST', /^\/answers$/, ({ text }) => stage.answer(json(text))],
    ['PUT', /^\/script\/([0-9a-f]{16})$/, ({ name, text }) => stage.script(name, json(text))],
    ['POST', /^\/release\/([^/]+)$/, ({ name }) => stage.release(name)],
    ['PUT', /^\/canary\/([^/]+)$/, ({ name, text }) => watchFor(stage, name, text)],
  ]
  const ofAll: readonly Route[] = [
    ['GET', /^\/healthz$/, () => ({ ok: true })],
    ['GET', /^\/deviations$/, () => listDeviations()],
    ['PUT', /^\/reachable$/, ({ text }) => stage.setReachable(booleanIn(text))],
    ...routesOf(stage),
  ]
  // The provider port has the same time-out, so that a client that polls rarely does not use a connection
  // that is being closed.
  return createServer({ keepAliveTimeout: 300_000 }, async (request, response) => {
    let status = 200
    let body: string | undefined
    try {
      refuseForeigners(request)
      const { context, path, query } = addressOf(request)
      const routes = context === null ? ofAll : routesOf(contextOf(context))
      body = told(await answer(routes, request, path, query))
      if (body === undefined) status = 204
    } catch (error) {
      const { message } = error as Error
      status = error instanceof RefusedError ? error.status : error instanceof ScriptError ? 400 : 500
      body = JSON.stringify({ error: { message } })
    }
    if (body === undefined) response.writeHead(status).end()
    else response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
}

function told(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    throw new RefusedError(
      413,
      'The ledger is too long for one answer; ask for its end: GET /ledger?since=N.',
    )
  }
}

/** Splits an address: `/t/NAME/ledger` is the ledger of a context. */
function addressOf({ url = '/' }: IncomingMessage) {
  const { pathname, searchParams: query } = new URL(url, 'http://control')
  const [, name, path] = /^\/t\/([^/]+)(\/.*)$/.exec(pathname) ?? []
  return name === undefined || path === undefined
    ? { context: null, path: pathname, query }
    : { context: decoded(name), path, query }
}

async function answer(
  routes: readonly Route[],
  request: IncomingMessage,
  pathname: string,
  query: URLSearchParams,
): Promise<unknown> {
  const here = routes.filter(([, path]) => path.test(pathname))
  const route = here.find(([method]) => method === request.method)
  if (here.length === 0)
    throw new RefusedError(
      404,
      `There is nothing at ${pathname}; see GET /ledger, DELETE /ledger, GET /sum, PUT /chaos, POST /answers, PUT /script/{nonce of 16 hex digits}, POST /release/{gate}, PUT /reachable, PUT /canary/{name}, GET /deviations; of one test: /t/{name}/ledger and so on.`,
    )
  if (!route)
    throw new RefusedError(405, `Use ${here.map(([method]) => method).join(' or ')} at ${pathname}.`)
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const [, path, act] = route
  const name = decoded(path.exec(pathname)?.[1] ?? '')
  return act({ name, query, text: Buffer.concat(chunks).toString('utf8') })
}

function page(stage: MockControls, query: URLSearchParams, connections: number): LedgerPage {
  const since = sinceSchema.safeParse(query.get('since') ?? 0)
  if (!since.success) throw new RefusedError(400, 'since must be the number of an entry: ?since=12')
  return { entries: stage.entries(since.data), connections, now: clock.monotonic() }
}

function booleanIn(text: string): boolean {
  const value: unknown = json(text)
  if (typeof value !== 'boolean') throw new RefusedError(400, 'The body must be true or false.')
  return value
}

function watchFor(stage: MockControls, name: string, secret: string): void {
  try {
    stage.watchFor(name, secret)
  } catch (error) {
    throw new RefusedError(400, (error as Error).message)
  }
}

function json(text: string): never {
  try {
    return JSON.parse(text) as never
  } catch {
    throw new RefusedError(400, 'The body is not JSON.')
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    throw new RefusedError(400, 'The path contains a broken % escape.')
  }
}

function refuseForeigners({ headers, socket }: IncomingMessage): void {
  const own = [`127.0.0.1:${socket.localPort}`, `localhost:${socket.localPort}`]
  if (!own.includes(headers.host ?? '')) throw new RefusedError(403, `Host must be one of ${own.join(', ')}.`)
  const { origin } = headers
  if (origin !== undefined && !own.some((host) => origin === `http://${host}`))
    throw new RefusedError(403, 'The control port does not answer web pages of another origin.')
}
