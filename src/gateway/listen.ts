// Checks that a gateway may listen at its address, and explains failures.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from '../config/load.ts'
import { after, every, on, once, stray } from '../shared/boundary.ts'

/** Throws if anyone on the network could spend the operator's money. */
export function refuseOpenAccess({ keys }: Config, host: string, replay: boolean): void {
  if (keys.length === 0 && !isLoopback(host) && !replay)
    throw new Error(
      `refusing to listen on ${host} without keys: add keys to the configuration, or listen on 127.0.0.1`,
    )
}

/** Starts listening and returns the URL. */
export async function listen(
  server: Server,
  { host, port }: Pick<Config['server'], 'host' | 'port'>,
): Promise<string> {
  try {
    await new Promise<void>((done, fail) => {
      once(server, 'error', fail, stray)
      server.listen(port, host, done)
    })
    on(server, { error: stray }, stray) // a connection that could not be accepted
  } catch (cause) {
    throw cannotListen(host, port, cause as NodeJS.ErrnoException)
  }
  const address = server.address() as AddressInfo
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

/** Stops listening. Cuts connections that are still open after `graceMs`. */
export async function stopListening(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise((done) => server.close(done))
  // Closes connections once their last call has ended. Without this, connections would stay open for more
  // calls.
  const idle = every(50, () => server.closeIdleConnections(), stray)
  const cut = () => server.closeAllConnections()
  const cutOff = after(graceMs, cut, cut)
  await closed
  idle.close()
  cutOff.close()
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): Error {
  const [reason, remedy] =
    cause.code === 'EADDRINUSE'
      ? [
          'the port is already in use',
          'stop the program that uses it, or choose another port with --port or server.port',
        ]
      : cause.code === 'EACCES'
        ? ['this user is not allowed to', 'choose a port above 1023']
        : [cause.message, 'check server.host and server.port']
  return new Error(`cannot listen on ${host}, port ${port}: ${reason}; ${remedy}`, { cause })
}

/** Returns true for an address that only this machine can reach. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host)
