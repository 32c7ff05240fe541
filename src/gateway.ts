// Joins the rooms into a running gateway. Used by `serve`, by tests, and by whoever embeds it.
import type { AddressInfo } from 'node:net'
import { Agent, type Dispatcher, interceptors } from 'undici'
import { createResponseCache } from './cache/response-cache.ts'
import { type Config, type Loaded, pricingOf } from './config.ts'
import { artifact } from './endpoints/artifact.ts'
import { autoRouting } from './endpoints/auto-routing.ts'
import { chatCompletions } from './endpoints/chat-completions.ts'
import { healthz } from './endpoints/healthz.ts'
import type { CallHouse, ReadHouse } from './endpoints/house.ts'
import { model } from './endpoints/model.ts'
import { models } from './endpoints/models.ts'
import { publicModels } from './endpoints/public-models.ts'
import { readyz } from './endpoints/readyz.ts'
import { requestLog } from './endpoints/request-log.ts'
import { requestLogs } from './endpoints/request-logs.ts'
import { resolve } from './endpoints/resolve.ts'
import { session } from './endpoints/session.ts'
import { sessions } from './endpoints/sessions.ts'
import { statusline } from './endpoints/statusline.ts'
import { usageHistory } from './endpoints/usage-history.ts'
import { usageLogs } from './endpoints/usage-logs.ts'
import { createAuth } from './http/auth.ts'
import { createHostGuard } from './http/host-guard.ts'
import { createLimits } from './http/limits.ts'
import { createHttpServer } from './http/server.ts'
import { openai } from './providers/openai.ts'
import type { Provider } from './providers/send.ts'
import { createMask } from './redact.ts'
import { createRouter } from './routing/router.ts'
import { openStore } from './store/store.ts'

export interface GatewayOptions extends Loaded {
  /** Providers answer from recordings: nothing can be spent, so a public address without keys is let pass. */
  readonly replay?: boolean
  /** Milliseconds since the epoch; Date.now by default. */
  readonly now?: () => number
  /** Uniform in [0, 1); Math.random by default. */
  readonly random?: () => number
  /** Sees each exchange with a provider as its bytes go over the wire. */
  readonly wire?: Dispatcher.DispatcherComposeInterceptor
  /** A failure of the gateway itself, with the request id that a client was told, if any. */
  readonly onInternalError?: (error: unknown, requestId: string | null) => void
}

export interface Gateway {
  /** Where it listens, for example `http://127.0.0.1:4949`. */
  readonly url: string
  /** Takes no new calls, waits up to `graceMs` for open ones, commits the record, gives the data directory free. */
  close(graceMs?: number): Promise<void>
}

/** Every endpoint, in the order of the documentation; of two paths that match, the first answers. */
export const READS = [
  healthz,
  readyz,
  models,
  model,
  publicModels,
  resolve,
  requestLogs,
  artifact,
  requestLog,
  usageLogs,
  usageHistory,
  sessions,
  session,
  autoRouting,
  statusline,
]
export const CALLS = [chatCompletions]
const DIALECTS = { openai }

/** Starts a gateway. Rejects with StoreError when its data directory cannot be used, or when the port is taken. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, secrets, now = Date.now, random = Math.random } = options
  const { onInternalError = () => {} } = options
  const { host, port, allowed_hosts, headers_timeout, request_timeout } = config.server
  if (config.keys.length === 0 && !isLoopback(host) && !options.replay)
    throw new Error(
      `refusing to listen on ${host} without keys: add keys to the configuration, or listen on 127.0.0.1`,
    )

  const { data: directory, durability, retention, artifacts } = config
  const onFailure = (reason: string) =>
    onInternalError(new Error(`the record cannot be written: ${reason}`), null)
  const pricing = pricingOf(config)
  const store = await openStore({ directory, durability, pricing, retention, artifacts, now, onFailure })
  const router = createRouter(config, { now, random })
  const dispatcher = createDispatcher(config, options.wire)
  const readHouse: ReadHouse = { config, router, calls: store.calls, storeFailure: () => store.failure }
  const callHouse: CallHouse = {
    config,
    router,
    store,
    cache: createResponseCache(config.cache, now),
    limits: createLimits(config.keys, { spent: store.spending.spent, now }),
    providers: connect(config, secrets, dispatcher),
    mask: createMask(secrets.values()),
    now,
  }
  const server = createHttpServer({
    reads: READS,
    calls: CALLS,
    readHouse,
    callHouse,
    authenticate: createAuth(config.keys),
    headersTimeout: headers_timeout,
    requestTimeout: request_timeout,
    guard: createHostGuard([host, ...allowed_hosts]),
    now,
    onInternalError,
  })
  try {
    await new Promise<void>((done, fail) => server.once('error', fail).listen(port, host, done))
  } catch (error) {
    await store.close()
    throw error
  }
  const address = server.address() as AddressInfo

  async function stop(graceMs: number): Promise<void> {
    const closed = new Promise((done) => server.close(done))
    // A connection whose call ends only now stays open for the next one, unless somebody looks.
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    const cutOff = setTimeout(() => server.closeAllConnections(), graceMs)
    await closed
    clearInterval(idle)
    clearTimeout(cutOff)
    await store.close()
    await dispatcher.destroy()
  }
  let stopped: Promise<void> | undefined

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close(graceMs = 5_000) {
      stopped ??= stop(graceMs)
      return stopped
    },
  }
}

/** Keep-alive connections to every provider; compressed answers are taken apart, because they have to be read. */
function createDispatcher({ resilience }: Config, wire?: GatewayOptions['wire']): Dispatcher {
  const agent = new Agent({ connect: { timeout: resilience.connect }, keepAliveTimeout: 30_000 })
  const { emitWarning } = process
  process.emitWarning = () => {} // undici calls its decompression experimental on every start; we test what we use of it
  const decompress = interceptors.decompress({ skipErrorResponses: false })
  process.emitWarning = emitWarning
  return wire ? agent.compose(wire, decompress) : agent.compose(decompress)
}

function connect(config: Config, secrets: Loaded['secrets'], dispatcher: Dispatcher): Map<string, Provider> {
  const entries = Object.entries(config.providers).map(([name, { api, base_url }]): [string, Provider] => {
    const { origin, pathname } = new URL(base_url)
    const key = secrets.get(name) ?? null
    return [name, { dialect: DIALECTS[api], dispatcher, origin, basePath: pathname.replace(/\/+$/, ''), key }]
  })
  return new Map(entries)
}

/** Whether only this machine can reach a server that listens there. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host)
