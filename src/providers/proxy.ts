// Reaches providers through a proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). Decides which origins use it, and opens
// tunnels with CONNECT. Also names the certificates that a connection trusts. Independent of providers.
import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import type { Socket } from 'node:net'
import { rootCertificates } from 'node:tls'
import { after, on } from '../shared/boundary.ts'

/** Values of the environment variables. A proxy's URL may contain a password. */
export interface ProxySettings {
  readonly http?: string | undefined
  readonly https?: string | undefined
  /** Hosts that are reached directly, separated by commas. */
  readonly except?: string | undefined
}

/** Error if the proxy did not open a tunnel. The message contains no address and no password. */
class ProxyError extends Error {
  override readonly name = 'ProxyError'
}

/**
 * Returns the proxy for an origin. Returns null for direct connections, which include every loopback address.
 */
export function proxyFor(origin: string, { http, https, except = '' }: ProxySettings): URL | null {
  const { protocol, hostname, port } = new URL(origin)
  const proxy = protocol === 'https:' ? https : http
  if (!proxy || isLoopback(hostname)) return null
  const host = hostname.replace(/^\[|\]$/g, '')
  const ports = port || (protocol === 'https:' ? '443' : '80')
  return except.split(/[\s,]+/).some((entry) => isExcepted(entry.toLowerCase(), host, ports))
    ? null
    : new URL(proxy)
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)

/** Entries of the list are `*`, a host, or a domain with its subdomains; each may have a port. */
function isExcepted(entry: string, host: string, port: string): boolean {
  if (entry === '') return false
  if (entry === '*') return true
  const [, name = entry, ofPort] = /^(.+?):(\d+)$/.exec(entry) ?? []
  if (ofPort !== undefined && ofPort !== port) return false
  const domain = name.replace(/^\*?\./, '')
  return host === domain || host.endsWith(`.${domain}`)
}

/** Opens a tunnel to `host:port`. Calls its callback once. */
export function openTunnel(
  proxy: URL,
  target: string,
  timeoutMs: number,
  callback: (error: Error | null, socket: Socket | null) => void,
): void {
  const { username, password, hostname, port, protocol } = proxy
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const request = (protocol === 'https:' ? overHttps : overHttp)({
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port,
    method: 'CONNECT',
    path: target,
    agent: false,
    headers: {
      host: target,
      ...(username && { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
  })
  let isOver = false
  const settle = (error: Error | null, socket: Socket | null) => {
    if (isOver) return
    isOver = true
    timer.close()
    callback(error, socket)
  }
  const refuse = (why: string) => request.destroy(new ProxyError(why))
  const fault = (error: unknown) => {
    request.destroy()
    settle(error as Error, null)
  }
  const timer = after(timeoutMs, () => refuse('the proxy does not answer'), fault)
  const listeners = {
    connect({ statusCode = 0 }: IncomingMessage, socket: Socket) {
      if (statusCode === 200) return settle(null, socket)
      socket.destroy()
      settle(new ProxyError(refusalOf(statusCode)), null)
    },
    response: ({ statusCode = 0 }: IncomingMessage) => refuse(refusalOf(statusCode)),
    error(error: NodeJS.ErrnoException) {
      const isOwn = error instanceof ProxyError
      settle(isOwn ? error : new ProxyError(`the proxy cannot be reached, ${error.code}`), null)
    },
  }
  on(request, listeners, fault)
  request.end()
}

const refusalOf = (status: number): string =>
  status === 407
    ? 'the proxy asks for a user and a password; put them into the URL of the variable'
    : `the proxy refused with ${status}`

/**
 * Returns the trusted certificates as a TLS option. `ca`: certificates in addition to the default ones, in
 * PEM; null for none.
 */
export const trustedWith = (ca: string | null): { ca?: string[] } =>
  ca === null ? {} : { ca: [...rootCertificates, ca] }
