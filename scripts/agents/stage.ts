// Setup of one run of an agent: its installation, a gateway with one route, the mock as its provider, a proxy that blocks and
// records outgoing requests, and the agent as a process that cannot leave this machine.

import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createMockProviders,
  type MockProviders,
  type ScriptedAnswer,
  writeNonce,
} from '../../mocks/library.ts'
import { parseConfig } from '../../src/config/load.ts'
import type { CallDetail, CallRecord } from '../../src/core/record.ts'
import { createGateway } from '../../src/gateway/create-gateway.ts'
import { TESTED_AGENTS, type TestedAgent } from './table.ts'

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

export interface Ran {
  /** Exit code; null if the program was killed. */
  readonly code: number | null
  /** Both outputs, in order of arrival. */
  readonly output: string
  readonly ms: number
  readonly timedOut: boolean
  /** Number of processes that the program left behind and that were ended. */
  readonly left: number
}

/** Environment variable that marks all processes of a run, because children inherit it. */
const MARK = 'WAYBILL_AGENT_RUN'

export async function runBounded(
  program: string,
  args: readonly string[],
  {
    env,
    cwd,
    ms,
  }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string; readonly ms: number },
): Promise<Ran> {
  const mark = randomUUID()
  const began = performance.now()
  const child = spawn(program, args, {
    cwd,
    env: { ...env, [MARK]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a separate group, which can be ended as a whole
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part) => (output += part))
  const exited = once(child, 'exit') as Promise<[number | null]>
  const over = await Promise.race([exited.catch((error: Error) => error), sleep(ms, null, { ref: false })])
  if (over instanceof Error) throw over
  const left = await endAll(mark)
  if (over === null) await exited
  child.stdout.destroy()
  child.stderr.destroy()
  return { code: over?.[0] ?? null, output, ms: performance.now() - began, timedOut: over === null, left }
}

/** Ends every process with the mark, by its id; returns their number. */
async function endAll(mark: string): Promise<number> {
  const found = new Set<number>()
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const marked = processesWith(`${MARK}=${mark}`)
    for (const pid of marked) {
      found.add(pid)
      try {
        process.kill(pid, signal)
      } catch {} // it has ended meanwhile
    }
    for (let tries = 0; tries < 20 && processesWith(`${MARK}=${mark}`).length > 0; tries++) await sleep(100)
  }
  return found.size
}

function processesWith(entry: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(entry)
      } catch {
        return false // the process has ended or belongs to another user
      }
    })
    .map(Number)
}

/** Folder of the installations, unless `--scratch` names another. */
export const SCRATCH = join(tmpdir(), 'waybill-agents')

export interface Installed {
  /** Program with its path. */
  readonly program: string
  readonly version: string
}

/** Installs an agent. Throws if this fails. */
export function installAgent({ name, from, program }: TestedAgent, scratch: string): Installed {
  const directory = join(scratch, name)
  const run = (file: string, ...args: string[]) =>
    execFileSync(file, args, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' })
  mkdirSync(directory, { recursive: true })
  if ('npm' in from) {
    const found = join(directory, 'node_modules', '.bin', program)
    if (!existsSync(found)) {
      writeFileSync(join(directory, 'package.json'), '{ "private": true }\n')
      run('npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', from.npm)
    }
    const { version } = JSON.parse(
      readFileSync(join(directory, 'node_modules', from.npm, 'package.json'), 'utf8'),
    )
    return { program: found, version }
  }
  const found = join(directory, 'bin', program)
  if (!existsSync(found)) {
    run('python3', '-m', 'venv', '.')
    run(join(directory, 'bin', 'pip'), 'install', '--quiet', from.pip)
  }
  const [, version = '?'] =
    /^Version: (.+)$/m.exec(run(join(directory, 'bin', 'pip'), 'show', from.pip)) ?? []
  return { program: found, version }
}

/** Installs the named agents, or all, one after the other. Prints which of them cannot be installed, and skips these. */
export function* installedAgents(
  names: readonly string[] | undefined,
  scratch: string,
): Generator<{ readonly agent: TestedAgent; readonly installed: Installed }> {
  for (const agent of TESTED_AGENTS.filter(({ name }) => names?.includes(name) ?? true)) {
    let installed: Installed
    try {
      installed = installAgent(agent, scratch)
    } catch (error) {
      console.log(`${agent.title}: cannot be installed: ${(error as Error).message.split('\n')[0]}`)
      continue
    }
    yield { agent, installed }
  }
}
