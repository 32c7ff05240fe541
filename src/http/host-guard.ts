// Refuses requests made by a web page: a foreign Host (DNS rebinding), a foreign Origin, or no Origin
// although the browser reports another site.
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { GatewayError } from '../core/errors.ts'

/**
 * Returns a guard. Clients may call the gateway by the address that it listens on, as `localhost`, by a
 * loopback address, or by a name in `allowedHosts`. If it listens on every address (`0.0.0.0` or `::`), any
 * IP address is a valid Host, because rebinding needs a name.
 *
 * A page may call the gateway from the origin that it calls, with the same scheme, name and port. Any other
 * port of this machine may belong to any user. Pages of an allowed host may also call, by http or https, on
 * the called port or the scheme's default port, because a proxy in front may use another port. Origins in
 * `allowedOrigins` must match exactly.
 */
export function createHostGuard(
  bind: string,
  allowedHosts: readonly string[],
  allowedOrigins: readonly string[],
): (request: IncomingMessage) => void {
  const trusted = new Set(allowedHosts.map((name) => name.toLowerCase()))
  const names = new Set(['localhost', '127.0.0.1', '::1', bind.toLowerCase(), ...trusted])
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()))

  const everywhere = names.has('0.0.0.0') || names.has('::')
  const isOwn = (host: string) => names.has(host) || (everywhere && isIP(host) !== 0)
  const mayCall = (origin: string, host: string): boolean => {
    if (origin === `http://${host}` || origins.has(origin)) return true
    const [, name, port] = /^https?:\/\/(\[[^\]]+\]|[^/:@?#\s]+)(:\d+)?$/.exec(origin) ?? []
    if (name === undefined || !trusted.has(name)) return false
    return port === undefined || host.endsWith(`]${port}`) || /^[^:]+(:\d+)$/.exec(host)?.[1] === port
  }

  return ({ headers }) => {
    const host = (headers.host ?? '').toLowerCase()
    if (!isOwn(hostName(host)))
      throw new GatewayError(
        'host_not_allowed',
        'This Host is not allowed here; the operator can add it to server.allowed_hosts.',
      )
    const { origin } = headers
    // A link may be followed from any site, but a subresource without an Origin is refused.
    const isLoaded = headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate'
    if (origin === undefined ? isLoaded : !mayCall(origin.toLowerCase(), host))
      throw new GatewayError(
        'host_not_allowed',
        'Requests from this Origin are not allowed here; the operator can add it to server.allowed_origins.',
      )
  }
}

/** Returns the name in a Host header without the port and IPv6 brackets. */
const hostName = (host: string): string => /^\[(.+)\](:\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, '')
