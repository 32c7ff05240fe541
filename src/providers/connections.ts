// Connections to providers, kept alive and shared. A call may outlive the configuration that it began with, so none is
// closed before the end; idle ones end by themselves.
import { Agent, type Dispatcher } from 'undici'

export interface Connections {
  /** For a time-out of connecting, ms. */
  within(connectMs: number): Dispatcher
  destroy(): Promise<void>
}

/** `wire` sees each exchange as its bytes go over the wire. */
export function createConnections(wire?: Dispatcher.DispatcherComposeInterceptor): Connections {
  const dispatchers = new Map<number, Dispatcher>()
  return {
    within(connectMs) {
      const dispatcher = dispatchers.get(connectMs) ?? createDispatcher(connectMs, wire)
      dispatchers.set(connectMs, dispatcher)
      return dispatcher
    },
    async destroy() {
      await Promise.all([...dispatchers.values()].map((each) => each.destroy()))
    },
  }
}

function createDispatcher(connectMs: number, wire?: Dispatcher.DispatcherComposeInterceptor): Dispatcher {
  const agent = new Agent({ connect: { timeout: connectMs }, keepAliveTimeout: 30_000 })
  return wire ? agent.compose(wire) : agent
}
