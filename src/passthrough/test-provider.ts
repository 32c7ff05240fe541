// A provider for the tests in this folder. It stores each request byte for byte, and each test sets its
// answers.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext } from 'node:test'
import { type Setup, sharedGateways, type TestGateway, testGateway } from '../test/test-gateway.ts'

export interface Arrived {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  /** Body, or its beginning. */
  readonly body: Buffer
  readonly bytes: number
  readonly sha256: string
}

/** A test, or the tests of a file. */
interface Owner {
  after(end: () => unknown): void
}

type Answer = (response: ServerResponse, arrived: Arrived) => unknown

export interface TestProvider {
  readonly origin: string
  readonly arrived: Arrived[]
  /** Number of requests with complete headers. */
  readonly begun: { count: number }
}

const KEPT_BYTES = 2 ** 20

export async function startProvider(t: Owner, answer: Answer): Promise<TestProvider> {
  const arrived: Arrived[] = []
  const begun = { count: 0 }
  const server = createServer({ keepAliveTimeout: 300_000 }, async (request, response) => {
    begun.count++
    const hash = createHash('sha256')
    const kept: Buffer[] = []
    let bytes = 0
    try {
      for await (const piece of request as AsyncIterable<Buffer>) {
        hash.update(piece)
        if (bytes < KEPT_BYTES) kept.push(piece)
        bytes += piece.length
      }
    } catch {
      return // it broke off
    }
    const { method = '', url = '', headers } = request
    const one = { method, url, headers, body: Buffer.concat(kept), bytes, sha256: hash.digest('hex') }
    arrived.push(one)
    await answer(response, one)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrived, begun }
}

export const replyWith =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))

/** Starts a gateway. `providers`: dialect and origin by name; `config`: additional settings. */
export const gatewayTo = (
  t: TestContext,
  providers: Readonly<Record<string, { readonly dialect: string; readonly origin: string }>>,
  config = '',
  data?: string,
): Promise<TestGateway> =>
  testGateway(t, { ...(data !== undefined && { data }), ...setupTo(providers, config) })

const setupTo = (providers: Parameters<typeof gatewayTo>[1], config: string): Setup => ({
  providers: {},
  env: Object.fromEntries(Object.keys(providers).map((name) => [`${name}_key`, secretOf(name)])),
  config: `${Object.entries(providers)
    .map(([name, { dialect, origin }]) => {
      const base = dialect === 'openai' ? `${origin}/v1` : origin
      return `  ${name}: { dialect: ${dialect}, base_url: "${base}", key: $${name}_key }`
    })
    .join('\n')}\n${config}`,
})

/**
 * Shares one provider, named `one`, and its gateway among the tests of a file. Each test sets the answers, and finds
 * no earlier request. Call this at the top of a file.
 */
export function sharedGatewayTo(config: string) {
  const share = sharedGateways()
  const ends: (() => unknown)[] = []
  after(() => ends.map((end) => end()))
  let answer: Answer
  let provider: TestProvider | undefined
  return async (t: TestContext, answers: Answer) => {
    answer = answers
    provider ??= await startProvider({ after: (end) => ends.push(end) }, (response, arrived) =>
      answer(response, arrived),
    )
    provider.arrived.length = 0
    provider.begun.count = 0
    const gateway = await share(t, setupTo({ one: { dialect: 'openai', origin: provider.origin } }, config))
    return { provider, gateway }
  }
}

export const secretOf = (provider: string): string => `sk-${provider}-of-the-operator`

/** Returns the record of an answer, once the record is closed. */
export const recordOf = async (gateway: TestGateway, answer: { readonly headers: Headers }, key?: string) => {
  const id = answer.headers.get('x-gateway-request-id')
  for (let tries = 0; tries < 200; tries++) {
    const { json } = await gateway.get(
      `/api/usage/request-logs/${id}`,
      key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } },
    )
    if (json?.completed_at) return json
    await new Promise((wait) => setTimeout(wait, 10))
  }
  throw new Error(`no closed record ${id}`)
}
