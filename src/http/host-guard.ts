// Refuses requests that a web page made: a foreign Host (DNS rebinding), a foreign Origin, or none where the
// browser says that it comes from another site.
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { GatewayError } from '../errors.ts'

/**
 * The gateway may be called by the address that it listens on, as `localhost`, by a loopback address, or by a name in
 * `allowedHosts`. Where it listens on every address (`0.0.0.0` or `::`), every address is its own as a Host: rebinding
 * takes a name.
 *
 * A page may call it when it comes from the very address that it calls: scheme, name and port, because any other port
 * of this machine may belong to any user. So may pages of an allowed host, by http or https, on the port that is called or the
 * scheme's own (a proxy in front may have another one), and those of `allowedOrigins`, as they are written there.
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
    // A link that a user follows may come from anywhere; what a page loads without saying who it is may not.
    const isLoaded = headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate'
    if (origin === undefined ? isLoaded : !mayCall(origin.toLowerCase(), host))
      throw new GatewayError(
        'host_not_allowed',
        'Requests from this Origin are not allowed here; the operator can add it to server.allowed_origins.',
      )
  }
}

/** The name in a Host header: without port, without the brackets of IPv6. */
const hostName = (host: string): string => /^\[(.+)\](:\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, '')
