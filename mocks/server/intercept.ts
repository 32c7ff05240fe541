// Mock within this process: answers every outgoing HTTP request as the mock's port does, without a
// connection. Knows MSW's interception and loopback addresses. Independent of single providers.
import net from 'node:net'
import { HttpRequestInterceptor } from '@mswjs/interceptors/http'
import { http } from 'msw'
import { defineNetwork, InterceptorSource } from 'msw/experimental'
import { clock, useClock } from '../../src/shared/clock.ts'
import { respond } from '../answer.ts'
import { readForm } from '../form.ts'
import { type Configured, matchProvider } from '../providers/registry.ts'
import { createWorld, type MockContext, type MockControls, type World, type WorldOptions } from './core.ts'

/** Defaults: `keys` `any`, `pace` `recorded`. */
export interface InterceptOptions extends WorldOptions {
  /** `real` connects to loopback addresses as usual; `recorded` treats them as providers. */
  readonly loopback?: 'real' | 'recorded'
  /** Returns a local port that stays real with `recorded`: the gateway's own. */
  readonly realPort?: () => number | null
  /** Returns the providers that are configured under their own names; called for each request. */
  readonly providers?: () => Configured
}

let active = false

/** Active interception: its ledger and controls, until `dispose()`. */
export interface Interception extends MockControls {
  /** Returns the part of the mock that belongs to one test; its `headers` put a request into it. */
  context(name: string): MockContext
  dispose(): void
}

/**
 * Answers all HTTP requests of the process as the providers would, until `dispose()` is called. Loopback
 * addresses stay real by default; a request without a recording or a scenario gets a 400 that names the
 * nearest recording. Throws if recordings cannot be read, or if interception is on.
 *
 * @example
 * const interception = interceptProviders({ pace: 'none' })
 * const answer = await fetch('https://api.openai.com/v1/models')
 * interception.dispose()
 */
export function interceptProviders({
  loopback = 'real',
  realPort = () => null,
  providers = () => ({}),
  ...options
}: InterceptOptions = {}): Interception {
  if (active)
    throw new Error('Interception is on already in this process; dispose of it before starting another.')
  const world = createWorld({ pace: 'recorded', keys: 'any', ...options })
  const network = defineNetwork({
    sources: [new InterceptorSource({ interceptors: [new HttpRequestInterceptor()] })],
    handlers: [http.all('*', ({ request }) => answerRequest(world, request, providers()))],
    onUnhandledFrame: 'error',
    context: { quiet: true },
  })
  const leaveClock = useClock(options.clock)
  const connect = net.Socket.prototype.connect
  void network.enable()
  const isReal = (to: Destination) =>
    isLoopback(to) && (loopback === 'real' || (to.port !== undefined && Number(to.port) === realPort()))
  const restoreIntercepting = exempt(connect, isReal)
  active = true
  return {
    ...world.stage,
    context: world.context,
    dispose() {
      if (!active) return
      active = false
      leaveClock()
      restoreIntercepting()
      void network.disable()
    },
  }
}

/** Answers a request as the mock's port does, as a Response. */
export async function answerRequest(
  world: World,
  request: Request,
  configured: Configured = {},
): Promise<Response> {
  const url = new URL(request.url)
  const at = clock.monotonic()
  const { method } = request
  const headers = Object.fromEntries(request.headers)
  const body = await request.bytes()
  const form = await readForm(body, headers['content-type'])
  const incoming = { method, url, path: url.pathname, headers, body, form, self: url.origin, at }
  const reception = world.receive(incoming, matchProvider(world.providers, configured, method, url))
  return respond(reception, { gate: reception.gate, gone: request.signal })
}

/** Destination of a socket: a host and a port, or a local path. */
interface Destination {
  readonly host?: string | null
  readonly port?: unknown
  readonly path?: string | null
}

/**
 * Lets the connections for which `isReal` holds use the real `connect`. MSW could pass them through as well,
 * but would still parse every request and join two sockets: this was measured at a tenth of the speed.
 */
function exempt(real: typeof net.Socket.prototype.connect, isReal: (to: Destination) => boolean): () => void {
  const intercepting = net.Socket.prototype.connect
  const set = (value: unknown) =>
    Object.defineProperty(net.Socket.prototype, 'connect', { value, configurable: true, writable: true })
  set(function (this: net.Socket, ...args: unknown[]) {
    return Reflect.apply(isReal(destinationOf(args)) ? real : intercepting, this, args)
  })
  return () => set(intercepting)
}

/** Reads the forms of `socket.connect`: options, a path, a port with or without a host, or Node's own array of those. */
function destinationOf(args: readonly unknown[]): Destination {
  const [target, host] = Array.isArray(args[0]) ? args[0] : args
  if (typeof target === 'string' && Number.isNaN(Number(target))) return { path: target } // a Unix socket
  if (typeof target === 'object' && target !== null) return target
  return { port: target, ...(typeof host === 'string' && { host }) }
}

const isLoopback = ({ host, path }: Destination): boolean =>
  Boolean(path) || !host || /^(?:localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/.test(host)
