// The mock within this process: every outgoing HTTP request is answered as on its port, and no connection is
// made. Knows MSW's interception and loopback addresses. Does not know single providers.
import net from 'node:net'
import { HttpRequestInterceptor } from '@mswjs/interceptors/http'
import { http } from 'msw'
import { defineNetwork, InterceptorSource } from 'msw/experimental'
import { ledgerNow } from '../ledger.ts'
import { type Configured, matchProvider } from '../providers/find.ts'
import { createWorld, type MockContext, type MockControls, type World, type WorldOptions } from './core.ts'
import { respond } from './respond.ts'

/** Defaults: `keys` `any`, `pace` `recorded`. */
export interface InterceptOptions extends WorldOptions {
  /** `real` reaches loopback addresses as usual; with `recorded` they are providers like any other. */
  readonly loopback?: 'real' | 'recorded'
  /** Returns the providers that are configured under their own names; called for each request. */
  readonly providers?: () => Configured
}

let active = false

/** Active interception: requests and answers, until `dispose()`. */
export interface Interception extends MockControls {
  /** Returns the part of the mock that belongs to one test; its `headers` put a request into it. */
  context(name: string): MockContext
  dispose(): void
}

/**
 * Answers the process's HTTP requests as the providers would until `dispose()` is called, whichever client
 * sends them. Loopback addresses stay real by default; a request without a recording or a scenario gets a 400
 * that names the nearest recording. Throws if recordings cannot be read, or if interception is already on.
 *
 * @example
 * const interception = interceptProviders({ pace: 'none' })
 * const answer = await fetch('https://api.openai.com/v1/models')
 * interception.dispose()
 */
export function interceptProviders({
  loopback = 'real',
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
  const connect = net.Socket.prototype.connect
  void network.enable()
  const restoreIntercepting = loopback === 'real' ? exemptLoopback(connect) : () => {}
  active = true
  return {
    ...world.stage,
    context: world.context,
    dispose() {
      if (!active) return
      active = false
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
  const at = ledgerNow()
  const { method } = request
  const headers = Object.fromEntries(request.headers)
  const incoming = { method, url, path: url.pathname, headers, text: await request.text(), at }
  const reception = world.receive(incoming, matchProvider(world.providers, configured, method, url))
  return respond(reception, { gate: reception.gate, gone: request.signal })
}

/**
 * Lets connections to this machine use the real `connect`. MSW could pass them through as well, but would
 * still parse every request and join two sockets: measured, a tenth of the speed.
 */
function exemptLoopback(real: typeof net.Socket.prototype.connect): () => void {
  const intercepting = net.Socket.prototype.connect
  const set = (value: unknown) =>
    Object.defineProperty(net.Socket.prototype, 'connect', { value, configurable: true, writable: true })
  set(function (this: net.Socket, ...args: unknown[]) {
    return Reflect.apply(isLoopback(args) ? real : intercepting, this, args)
  })
  return () => set(intercepting)
}

/** Reads the forms of `socket.connect`: options, a path, a port with or without a host, or Node's own array of those. */
function isLoopback(args: readonly unknown[]): boolean {
  const [target, host] = Array.isArray(args[0]) ? args[0] : args
  if (typeof target === 'string' && Number.isNaN(Number(target))) return true // a Unix socket
  if (typeof target !== 'object' || target === null)
    return isLoopbackHost(typeof host === 'string' ? host : undefined)
  return 'path' in target && target.path ? true : isLoopbackHost((target as { host?: string | null }).host)
}

function isLoopbackHost(host: string | null | undefined): boolean {
  return (
    !host || host === 'localhost' || /^127\.\d+\.\d+\.\d+$/.test(host) || host === '::1' || host === '[::1]'
  )
}
