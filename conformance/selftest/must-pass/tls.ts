// Gateways behind TLS, and gateways that send a second request if a provider is slow.

import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request as ask, createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { parse } from 'yaml'
import { certify } from '../../../mocks/server/certificate.ts'
import { sleep } from '../../../src/shared/clock.ts'
import type { InProcess } from '../../launch/in-process.ts'
import type { MustPass } from '../gateway.ts'
import { startWaybill } from '../reference.ts'

/** Terminates TLS in front of the gateway; creates the authority at the start in the gateway's directory. */
const behindTls: InProcess['start'] = async (directory, env) => {
  const { url, ...gateway } = await startWaybill(directory, { ...env, WAYBILL_PORT: '0' })
  const { ca, cert, key } = certify(['127.0.0.1'])
  writeFileSync(join(directory, 'ca.pem'), ca)
  const server = createTlsServer({ cert, key }, (request, response) => {
    const { method, url: path, headers } = request
    const upstream = ask(`${url}${path}`, { method, headers, agent: false }, (incoming) => {
      response.writeHead(incoming.statusCode!, incoming.headers)
      incoming.on('error', () => response.destroy())
      incoming.pipe(response)
    })
    upstream.on('error', () => response.destroy())
    response.on('close', () => upstream.destroy())
    request.pipe(upstream)
  })
  server.listen(parse(readFileSync(join(directory, 'waybill.yaml'), 'utf8')).server.port, '127.0.0.1')
  await once(server, 'listening')
  return {
    async close() {
      server.close()
      server.closeAllConnections()
      await gateway.close()
    },
  }
}

/** Silence of a provider before a second request is sent, ms. */
const SILENCE_MS = 1_200

/**
 * Proxy between the gateway and its providers: if a provider is slow, sends the request again and uses the
 * first answer.
 */
const hedging: InProcess['start'] = async (directory, env) => {
  const text = readFileSync(join(directory, 'waybill.yaml'), 'utf8')
  const provider = new URL(parse(text).providers.openai.base_url).origin
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { method, url: path, headers } = request
    const tries: ReturnType<typeof ask>[] = []
    const attempt = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const once = ask(`${provider}${path}`, { method, headers, agent: false }, resolve)
        tries.push(once)
        once.on('error', reject)
        once.end(Buffer.concat(pieces))
      })
    response.on('close', () => {
      for (const each of tries) each.destroy()
    })
    try {
      const first = attempt()
      const second = sleep(SILENCE_MS, { ref: false }).then(() =>
        response.headersSent || response.destroyed ? first : attempt(),
      )
      const incoming = await Promise.race([first, second])
      response.writeHead(incoming.statusCode!, incoming.headers)
      // Aborts the slower request, so that it costs no more than necessary.
      for (const each of tries) if (each !== (incoming as { req?: unknown }).req) each.destroy()
      second.catch(() => {})
      first.catch(() => {})
      incoming.on('error', () => response.destroy())
      incoming.on('close', () => incoming.complete || response.destroy())
      incoming.pipe(response)
    } catch {
      response.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  writeFileSync(join(directory, 'changed.yaml'), text.replaceAll(provider, `http://127.0.0.1:${port}`))
  const gateway = await startWaybill(directory, env, 'changed.yaml')
  return {
    async close() {
      await gateway.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

export const mustPass = {
  'behind-tls': {
    what: 'The gateway accepts only TLS, with a certificate from its own authority, as declared.',
    target: (target) => ({ ...target, base_url: 'https://127.0.0.1:{{port}}', ca: '{{dir}}/ca.pem' }),
    start: behindTls,
  },
  'asks-twice-when-slow': {
    what: 'If a provider sends nothing for 1.2 s, the gateway calls it a second time, uses the first answer and cancels the other request.',
    start: hedging,
  },
} satisfies Record<string, MustPass>
