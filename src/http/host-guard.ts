// Refuses requests that a web page made: a foreign Host (DNS rebinding) or a foreign Origin (cross-site).
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { GatewayError } from '../errors.ts'

/**
 * `allowed` are the host names, beside `localhost` and the loopback addresses, under which the gateway may be called.
 * With `0.0.0.0` or `::` among them it listens on every address, so every address is its own as a Host: rebinding
 * takes a name. As an Origin an address is as foreign as a name.
 */
export function createHostGuard(allowed: readonly string[]): (request: IncomingMessage) => void {
  const names = new Set(['localhost', '127.0.0.1', '::1', ...allowed.map((name) => name.toLowerCase())])

  const everywhere = names.has('0.0.0.0') || names.has('::')
  const isOwn = (host: string) => names.has(host) || (everywhere && isIP(host) !== 0)

  return ({ headers }) => {
    if (!isOwn(hostName(headers.host ?? '')))
      throw new GatewayError(
        'host_not_allowed',
        'This Host is not served here; the operator can add it to server.allowed_hosts.',
      )
    const { origin } = headers
    if (origin !== undefined && !names.has(originHost(origin)))
      throw new GatewayError(
        'host_not_allowed',
        'Requests from this Origin are not served here; the operator can add it to server.allowed_hosts.',
      )
  }
}

/** The name in a Host header: without port, without the brackets of IPv6. */
const hostName = (host: string): string =>
  (/^\[(.+)\](:\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, '')).toLowerCase()

function originHost(origin: string): string {
  try {
    return hostName(new URL(origin).host)
  } catch {
    return '' // "null", a sandboxed page or a file
  }
}
