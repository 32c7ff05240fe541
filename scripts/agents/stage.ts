// Setup of one run of an agent: a gateway with one route, the mock as its provider, and a proxy that blocks
// and records outgoing requests.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createMockProviders,
  type MockProviders,
  type ScriptedAnswer,
  writeNonce,
} from '../../mocks/library.ts'
import { parseConfig } from '../../src/config/load.ts'
import type { CallDetail, CallRecord } from '../../src/core/record.ts'
import { createGateway } from '../../src/gateway/create-gateway.ts'

export interface Upstream {
  /** Dialects of the provider; default: the dialect of its entry. */
  readonly dialects?: readonly string[]
  readonly provider: string
  readonly main: string
  readonly aside: string
}

/** Providers by dialect, with their models for conversations and for side calls. */
export const UPSTREAMS: Readonly<Record<string, Upstream>> = {
  chat: { provider: 'groq', main: 'openai/gpt-oss-120b', aside: 'openai/gpt-oss-20b' },
  messages: { provider: 'anthropic', main: 'claude-sonnet-5-5', aside: 'claude-haiku-5-5' },
  responses: { provider: 'openai', main: 'gpt-6-sol', aside: 'gpt-6-luna' },
  gemini: { provider: 'gemini', main: 'gemini-3.1-pro-preview', aside: 'gemini-3.8-flash' },
}

/** Providers for translated runs; the chat provider shows its model's thoughts. */
const THINKING: typeof UPSTREAMS = {
  ...UPSTREAMS,
  chat: { provider: 'deepseek', main: 'deepseek-v4-pro', aside: 'deepseek-v4-flash' },
}

/** Models that agents request. OTHER always has a provider of the agent's own dialect. */
export const MODEL = 'auto'
export const OTHER = 'other'
/** Alias of MODEL, for an agent that uses the name MODEL for something else. */
export const ALIAS = 'work'

export interface StageOptions {
  /** Dialects of the agent and of the provider behind `auto`. */
  readonly client: string
  readonly upstream: string
  /** True if the agent's conversations offer tools, so that calls without tools are side calls. */
  readonly tools: boolean
  /** True if the agent's calls for text go to the provider, and only its other requests to the gateway. */
  readonly isDirect?: boolean
  /** Model that the agent requests, and the provider's models for it; default: MODEL and UPSTREAMS. */
  readonly known?: { readonly asks: string; readonly serves: Upstream }
}

export interface AgentStage {
  readonly url: string
  readonly mock: MockProviders
  /** Nonce for the prompt: the script answers every call that contains it. */
  readonly nonce: string
  /** Requests that reached the gateway: method and path. */
  readonly requests: readonly string[]
  /** Hosts other than the gateway that the agent tried to reach. */
  readonly hosts: ReadonlySet<string>
  readonly proxy: string
  records(): Promise<readonly CallRecord[]>
  record(id: string): Promise<CallDetail>
  /** Returns the codes of calls that were refused before they had a record. */
  refused(): Promise<readonly string[]>
  /**
   * Ends the gateway; resolves with a function that starts it again at the same address, with the same record and
   * additional lines of configuration.
   */
  stop(): Promise<(more?: string) => Promise<void>>
  close(): Promise<void>
}

const NONCE = 'a9e07ca5e5000001'

/**
 * Opens a stage. `script` contains the answers of the model behind `auto`, unless an answer names another
 * model.
 */
export async function openStage(
  { client, upstream, tools, isDirect = false, known }: StageOptions,
  script: readonly ScriptedAnswer[],
): Promise<AgentStage> {
  const mock = await createMockProviders()
  const own = UPSTREAMS[client]!
  const there = known?.serves ?? (upstream === client ? own : THINKING[upstream]!)
  mock.script(NONCE, [
    ...[there, own].map(({ aside }) => ({ model: aside, scenario: 'plain', times: 1_000 })),
    ...script.map((answer) => ({ model: there.main, ...answer })),
  ])
  const data = mkdtempSync(join(tmpdir(), 'waybill-agents-'))
  const providerOf = (api: string, { provider, dialects = [api] }: Upstream) =>
    `{ dialect: [${dialects.join(', ')}], base_url: "${mock.baseUrl(provider)}", key: $${provider.toUpperCase()} }`
  const open = (port: string, more = '') =>
    createGateway(
      parseConfig(
        `server: { port: ${port} }
data: ${data}
providers: { up: ${providerOf(upstream, there)}, own: ${providerOf(client, own)} }
routes: { ${known ? `"${known.asks}": ${routeTo('up', there, tools)}, ` : ''}${MODEL}: ${routeTo('up', there, tools)}, ${ALIAS}: ${routeTo('up', there, tools)}, ${OTHER}: ${routeTo('own', own, tools)} }
defaults: { ${client}: ${MODEL} }
resilience: { retries: 0, cooldown: 1ms }\n${more}`,
        'agents.yaml',
        {
          env: Object.fromEntries(
            [there, own].map(({ provider }) => [provider.toUpperCase(), mock.key(provider)]),
          ),
        },
      ),
    )
  let gateway = await open('0')
  const relay = isDirect ? await relayTo(mock, there, gateway.url) : null
  const { url } = relay ?? gateway
  const port = new URL(gateway.url).port
  const requests: string[] = []
  const count = (message: unknown) => {
    const { request, server } = message as { request: { method: string; url: string }; server: Server }
    if (String((server.address() as AddressInfo | null)?.port) === port)
      requests.push(`${request.method} ${request.url}`)
  }
  subscribe('http.server.request.start', count)

  const hosts = new Set<string>()
  const proxy = blockingProxy(hosts)
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')

  const read = async <Answer>(path: string): Promise<Answer> =>
    (await (await fetch(gateway.url + path)).json()) as Answer
  return {
    url,
    mock,
    nonce: writeNonce(NONCE),
    requests,
    hosts,
    proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    records: async () =>
      (await read<{ data: CallRecord[] }>('/api/usage/request-logs?limit=200')).data.reverse(),
    record: (id) => read(`/api/usage/request-logs/${id}`),
    refused: async () =>
      (await read<{ data: { code: string }[] }>('/api/usage/refused-calls')).data.map(({ code }) => code),
    async stop() {
      await gateway.close(100)
      return async (more) => {
        gateway = await open(port, more)
      }
    },
    async close() {
      unsubscribe('http.server.request.start', count)
      for (const server of relay ? [proxy, relay.server] : [proxy]) {
        server.closeAllConnections()
        server.close()
      }
      await gateway.close(100)
      await mock.close()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** Makes a server that passes calls for text on to a mock provider, and everything else to the gateway. */
async function relayTo(mock: MockProviders, { provider, main, aside }: Upstream, gateway: string) {
  const base = new URL(mock.baseUrl(provider))
  const key = mock.key(provider)
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const isCall = request.method === 'POST' && !/count_?tokens/i.test(request.url!)
    const model = /"tools"/.test(body) || !/title|summar/i.test(body) ? main : aside
    const path = request
      .url!.replace(/^\/v1(beta)?/, base.pathname)
      .replace(/models\/[^:]+:/, `models/${model}:`)
    const to = isCall ? new URL(path, base) : new URL(request.url!, gateway)
    const { host: _, 'content-length': __, 'accept-encoding': ___, ...headers } = request.headers
    const answer = await fetch(to, {
      method: request.method!,
      headers: {
        ...(headers as Record<string, string>),
        ...(isCall && { authorization: `Bearer ${key}`, 'x-api-key': key, 'x-goog-api-key': key }),
      },
      ...(body && { body: isCall ? body.replace(/"model":\s*"[^"]*"/, `"model":"${model}"`) : body }),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Makes a proxy that refuses all connections, and adds their hosts to `hosts`. */
function blockingProxy(hosts: Set<string>): Server {
  return createServer((request, response) => {
    hosts.add(URL.parse(request.url ?? '')?.host ?? request.url ?? '')
    response.writeHead(403).end()
  }).on('connect', (request, socket) => {
    hosts.add(String(request.url).replace(/:443$/, ''))
    socket.on('error', () => {}).end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
  })
}

/** Routes calls without tools to the small model. */
function routeTo(provider: string, { main, aside }: Upstream, tools: boolean): string {
  if (!tools) return `{ targets: [ { model: ${provider}/${main} } ] }`
  const rule = (offered: boolean, model: string) =>
    `{ when: { tools: ${offered} }, use: { target: ${provider}/${model} } }`
  return `{ rules: [ ${rule(true, main)}, ${rule(false, aside)} ], targets: [ { model: ${provider}/${main} }, { model: ${provider}/${aside} } ] }`
}
