// Mock server: all providers on one port of this machine, with a ledger of the requests, and a control port.
// Joins the core with its two servers; independent of single providers and scenarios.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { useClock } from '../../src/shared/clock.ts'
import { contextPath } from './address.ts'
import { createControlServer } from './control-server.ts'
import { createWorld, type MockContext, type MockControls, type WorldOptions } from './core.ts'
import { createMockServer } from './http-server.ts'

export interface MockOptions extends WorldOptions {
  /** Host on which the providers listen; default 127.0.0.1. */
  readonly host?: string
  /** Name or address that clients use for the mock, if it differs from `host`. */
  readonly name?: string
  /** Certificate and key as PEM; default plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Default 0: any free port. */
  readonly port?: number
  /** Port of the control server, which is always on 127.0.0.1, even with another `host`. */
  readonly controlPort?: number
}

/** Context of one test, with its own addresses. */
export interface MockServerContext extends MockContext {
  readonly url: string
  /** Returns a provider's base URL in this context: `http://127.0.0.1:PORT/t/NAME/openai/v1`. */
  baseUrl(provider: string): string
}

export interface MockProviders extends MockControls {
  /** `http://127.0.0.1:PORT`, for gateways that accept only an origin. */
  readonly url: string
  readonly controlUrl: string
  readonly providers: readonly string[]
  /** Returns a provider's base URL: `http://127.0.0.1:PORT/groq/openai/v1`. Throws for an unknown name. */
  baseUrl(provider: string): string
  /** Returns the key that a provider accepts. */
  key(provider: string): string
  /**
   * Returns the part of the mock that belongs to one test: its ledger, scripts, gates and turns. A request
   * belongs to it if it uses its base URL, its header or its key.
   */
  context(name: string): MockServerContext
  /** TCP connections accepted so far, used or not. */
  readonly connections: number
  /**
   * With false, refuses connections and resets open connections. With true, listens on the same port again.
   */
  setReachable(reachable: boolean): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a mock server. Rejects if recordings cannot be read or a port is taken.
 *
 * @example
 * const mock = await createMockProviders()
 * const client = new OpenAI({ baseURL: mock.baseUrl('openai'), apiKey: mock.key('openai') })
 * await client.chat.completions.create({ model: 'scenario-tools', messages })
 * console.log(mock.entries()[0].problems)
 * await mock.close()
 */
export async function createMockProviders({
  host = '127.0.0.1',
  name,
  tls,
  port = 0,
  controlPort = 0,
  ...options
}: MockOptions = {}): Promise<MockProviders> {
  const world = createWorld(options)
  const leaveClock = useClock(options.clock)
  let connections = 0
  const server = createMockServer(world, () => connections++, tls)
  const setReachable = async (reachable: boolean) => {
    if (reachable === server.listening) return
    if (reachable) await listen(server, bound, host)
    else await stop(server)
  }
  const control = createControlServer({ ...world.stage, setReachable }, () => connections, world.context)
  const close = async () => {
    world.clearAll() // because held answers would keep their connections open
    await Promise.all([stop(server), stop(control)])
    leaveClock()
  }
  try {
    await listen(server, port, host)
    await listen(control, controlPort, '127.0.0.1')
  } catch (error) {
    await close()
    throw error
  }

  const basePathOf = (name: string): string => {
    const provider = world.providers.find((one) => one.name === name)
    if (!provider) throw new Error(`there is no provider "${name}"`)
    return `/${name}${provider.basePaths[0]}`
  }
  const bound = (server.address() as AddressInfo).port
  const url = addressOf(server, name, tls && 'https')
  return {
    ...world.stage,
    url,
    controlUrl: addressOf(control),
    providers: world.providers.map(({ name }) => name),
    baseUrl: (provider) => url + basePathOf(provider),
    key: world.key,
    context(name) {
      const contextUrl = `${url}${contextPath(name)}`
      return {
        ...world.context(name),
        url: contextUrl,
        baseUrl: (provider) => contextUrl + basePathOf(provider),
      }
    },
    get connections() {
      return connections
    },
    setReachable,
    close,
  }
}

/** Starts to listen. Rejects with the problem and its remedy; `cause` is the system's own error. */
async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const reason =
      cause.code === 'EADDRINUSE'
        ? 'the port is already in use; stop the program that uses it, or choose another port'
        : `${cause.message}; choose another address or port of this machine`
    throw new Error(`cannot listen on ${host}, port ${port}: ${reason}`, { cause })
  })
}

function stop(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done())
    server.emit('stopping')
    server.closeAllConnections()
  })
}

/** Returns an address that clients can use: loopback for the unspecified address. */
function addressOf(server: Server, name?: string, scheme = 'http'): string {
  const { address, port } = server.address() as AddressInfo
  const host = name ?? (address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address)
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
