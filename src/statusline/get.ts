// Makes one GET over a bare socket in HTTP/1.0: an answer is headers, a body, and the end of the connection.
// The whole program may take only 6 ms more than an empty one, and Node's own client would cost 3 ms of that
// (LINE-09).
import { connect, type Socket } from 'node:net'

const LIMIT_BYTES = 256 * 1024

/** Error if the gateway did not answer. The message is short enough for the line, and contains no secret. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError' as const
}

/** Opens a connection to the host of `url`; `get` reports a failure. */
export function dial(url: URL): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // Uses `getBuiltinModule`, because a literal import would always load TLS.
  const socket =
    url.protocol === 'https:'
      ? process
          .getBuiltinModule('node:tls')
          .connect({ host, port: Number(url.port) || 443, servername: host })
      : connect({ host, port: Number(url.port) || 80 })
  return socket.on('error', () => {})
}

/** Requests `target` (path and query) from `host` over a separate connection. Rejects with NoAnswerError. */
export function get(
  socket: Socket,
  host: string,
  target: string,
  key: string | null,
  ms: number,
): Promise<{ status: number; type: string; body: string }> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      clearTimeout(timer)
      socket.destroy()
      reject(new NoAnswerError(reason))
    }
    const timer = setTimeout(() => fail('did not answer in time'), ms)
    if (socket.destroyed) return fail('is not there')
    const authorization = key === null ? '' : `authorization: Bearer ${key}\r\n`
    socket.write(`GET ${target} HTTP/1.0\r\nhost: ${host}\r\n${authorization}\r\n`)
    const chunks: Buffer[] = []
    let bytes = 0
    socket.on('error', () => fail('is not there'))
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > LIMIT_BYTES) fail('sent an invalid answer')
    })
    socket.on('end', () => {
      const answer = Buffer.concat(chunks).toString('utf8')
      const status = /^HTTP\/1\.[01] ([1-5]\d\d)\b/.exec(answer)?.[1]
      const headersEnd = answer.indexOf('\r\n\r\n')
      if (status === undefined || headersEnd < 0) return fail('sent an invalid answer')
      clearTimeout(timer)
      const type = /^content-type: *(.*)$/im.exec(answer.slice(0, headersEnd))?.[1] ?? ''
      resolve({ status: Number(status), type: type.trim(), body: answer.slice(headersEnd + 4) })
    })
  })
}
