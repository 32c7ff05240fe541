// Endpoints where clouds issue tokens, for tests: Google's metadata server and its exchange of federated
// tokens, and Microsoft's managed identity. Each makes the same checks as its cloud, and counts requests.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface TokenEndpoint {
  readonly origin: string
  /** Issued tokens, oldest first. */
  readonly issued: string[]
  /** Number of requests, including refused requests. */
  readonly requests: () => number
  /** Answer that is sent instead of a token; null to send tokens again. */
  fails: { readonly status: number; readonly body: object } | null
  /** Delay of each answer, ms. */
  delayMs: number
  /** Lifetime of a token, seconds. */
  lifeS: number
}

export const FEDERATED_TOKEN = 'federated-subject-token-0123456789'
export const IDENTITY_HEADER = 'identity-header-0123456789'

/** Starts the endpoints on a free port of 127.0.0.1. */
export async function startTokenEndpoint(t: TestContext): Promise<TokenEndpoint> {
  let requests = 0
  const endpoint = {
    origin: '',
    issued: [] as string[],
    requests: () => requests,
    fails: null,
    delayMs: 0,
    lifeS: 3_599,
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (new URL(request.url!, 'http://localhost').pathname.endsWith('/token')) requests++
    setTimeout(() => answer(endpoint, request, Buffer.concat(chunks).toString(), response), endpoint.delayMs)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((done) => server.close(done))
  })
  endpoint.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return endpoint
}

function answer(
  endpoint: TokenEndpoint,
  { url = '', headers }: IncomingMessage,
  body: string,
  response: ServerResponse,
) {
  const json = (status: number, answer: object) =>
    response
      .writeHead(status, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
      .end(JSON.stringify(answer))
  if (endpoint.fails) return json(endpoint.fails.status, endpoint.fails.body)
  const issue = () => {
    const token = `token-${endpoint.issued.length + 1}-of-a-cloud-0123456789`
    endpoint.issued.push(token)
    return token
  }
  const { pathname, searchParams } = new URL(url, endpoint.origin)
  if (pathname.startsWith('/computeMetadata/')) {
    if (headers['metadata-flavor'] !== 'Google')
      return json(403, { error: 'Missing Metadata-Flavor:Google header.' })
    if (!pathname.endsWith('/token')) return json(200, {})
    return json(200, { access_token: issue(), expires_in: endpoint.lifeS, token_type: 'Bearer' })
  }
  if (pathname === '/v1/token') {
    const form = new URLSearchParams(body)
    return form.get('subject_token') === FEDERATED_TOKEN && form.get('scope')?.includes('cloud-platform')
      ? json(200, {
          ...{ access_token: issue(), expires_in: endpoint.lifeS, token_type: 'Bearer' },
          issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        })
      : json(400, { error: 'invalid_grant', error_description: 'The subject token is wrong.' })
  }
  if (headers['x-identity-header'] !== IDENTITY_HEADER) return json(401, { error: 'unauthorized' })
  return json(200, {
    ...{ access_token: issue(), token_type: 'Bearer', resource: searchParams.get('resource') },
    expires_on: Math.floor(Date.now() / 1_000) + endpoint.lifeS,
  })
}
