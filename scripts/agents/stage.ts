// What stands behind one run of an agent: a gateway with one route, the witness as its provider, and a proxy that lets
// nothing out and writes down who asked.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWitness, type ScriptedAnswer, type Witness, writeNonce } from '../../mocks/library.ts'
import { parseConfig } from '../../src/config.ts'
import { createGateway } from '../../src/gateway.ts'
import type { CallDetail, CallRecord } from '../../src/record.ts'

/** For each dialect: who speaks it, and its model for conversations and for what is asked beside them. */
export const UPSTREAMS: Readonly<Record<string, { provider: string; main: string; aside: string }>> = {
  chat: { provider: 'openai', main: 'gpt-5-mini', aside: 'gpt-5-nano' },
  messages: { provider: 'anthropic', main: 'claude-sonnet-5', aside: 'claude-haiku-4-5' },
  responses: { provider: 'openai', main: 'gpt-5.4', aside: 'gpt-5.4-nano' },
  gemini: { provider: 'gemini', main: 'gemini-2.5-pro', aside: 'gemini-2.5-flash' },
}

/** The model that agents ask for. */
export const MODEL = 'auto'

export interface Stage {
  readonly url: string
  readonly witness: Witness
  /** To be put into the prompt: all that carries it is answered by the script. */
  readonly nonce: string
  /** Requests that reached the gateway: method and path. */
  readonly requests: readonly string[]
  /** Hosts that the agent wanted to reach beside the gateway. */
  readonly hosts: ReadonlySet<string>
  readonly proxy: string
  records(): Promise<readonly CallRecord[]>
  record(id: string): Promise<CallDetail>
  close(): Promise<void>
}

const NONCE = 'a9e07ca5e5000001'

export async function openStage(
  {
    client,
    upstream,
    tools,
  }: { readonly client: string; readonly upstream: string; readonly tools: boolean },
  script: readonly ScriptedAnswer[],
): Promise<Stage> {
  const witness = await createWitness()
  const { provider, main, aside } = UPSTREAMS[upstream]!
  witness.script(NONCE, [
    { model: aside, scenario: 'plain', times: 1_000 },
    ...script.map((answer) => ({ ...answer, model: main })),
  ])
  const data = mkdtempSync(join(tmpdir(), 'waybill-agents-'))
  const rules = tools
    ? `rules: [ { when: { tools: true }, use: { target: up/${main} } }, { when: { tools: false }, use: { target: up/${aside} } } ], `
    : ''
  const gateway = await createGateway(
    parseConfig(
      `server: { port: 0 }
data: ${data}
providers: { up: { api: ${upstream}, base_url: "${witness.baseUrl(provider)}", key: $KEY } }
routes: { ${MODEL}: { ${rules}targets: [ { model: up/${main} }${tools ? `, { model: up/${aside} }` : ''} ] } }
defaults: { ${client}: ${MODEL} }
resilience: { retries: 0, cooldown: 1ms }
retention: { rows: 10000 }`,
      'agents.yaml',
      { env: { KEY: witness.key(provider) } },
    ),
  )
  const { url } = gateway
  const port = new URL(url).port
  const requests: string[] = []
  const count = (message: unknown) => {
    const { request, server } = message as { request: { method: string; url: string }; server: Server }
    if (String((server.address() as AddressInfo | null)?.port) === port)
      requests.push(`${request.method} ${request.url}`)
  }
  subscribe('http.server.request.start', count)

  const hosts = new Set<string>()
  const proxy = createServer((request, response) => {
    hosts.add(URL.parse(request.url ?? '')?.host ?? request.url ?? '')
    response.writeHead(403).end()
  }).on('connect', (request, socket) => {
    hosts.add(String(request.url).replace(/:443$/, ''))
    socket.on('error', () => {}).end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')

  const read = async <Answer>(path: string): Promise<Answer> =>
    (await (await fetch(url + path)).json()) as Answer
  return {
    url,
    witness,
    nonce: writeNonce(NONCE),
    requests,
    hosts,
    proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    records: async () =>
      (await read<{ data: CallRecord[] }>('/api/usage/request-logs?limit=200')).data.reverse(),
    record: (id) => read(`/api/usage/request-logs/${id}`),
    async close() {
      unsubscribe('http.server.request.start', count)
      proxy.closeAllConnections()
      proxy.close()
      await gateway.close(100)
      await witness.close()
      rmSync(data, { recursive: true, force: true })
    },
  }
}
