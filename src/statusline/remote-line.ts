// Finds the gateway and requests the finished line from it. Uses only this read endpoint, so it cannot cause an inference
// (LINE-04). Trusts nothing, because another program may be listening on that address. Makes one GET over a bare socket
// in HTTP/1.0: an answer is headers, a body, and the end of the connection. The whole program may take only 6 ms more
// than an empty one, and Node's own client would cost 3 ms of that (LINE-09).
import { connect, type Socket } from 'node:net'
import { clean, cut, type Measure } from '../terminal/clean.ts'
import { findKey } from '../terminal/keys.ts'

/** Error codes of a gateway that requires a key, or does not know the given one. */
export const KEYLESS = 'requires a key'
export const WRONG_KEY = 'does not accept this key'

interface RemoteLine {
  /** The line; empty if the gateway knows no call of this subagent. */
  readonly line: string
  /** The line to show later, with AGE_PLACEHOLDER instead of its age. */
  readonly aged: string
  /** Time from which the line's age counts, ms since the epoch. */
  readonly at: number
}

/** A gateway and a connection to it, for a single use. */
export interface RemoteGateway {
  readonly url: URL
  readonly key: string | null
  readonly socket: Socket
}

/** Rejects with NoAnswerError. */
export async function askForLine(
  { url, key, socket }: RemoteGateway,
  query: Readonly<Record<string, string>>,
  ms: number,
): Promise<RemoteLine> {
  const target = `${url.pathname.replace(/\/+$/, '')}/api/statusline?${new URLSearchParams(query)}&aged=1`
  const { status, type, body } = await get(socket, url.host, target, key, ms)
  if (status === 401) throw new NoAnswerError(key === null ? KEYLESS : WRONG_KEY)
  if (status !== 200) throw new NoAnswerError(`answered ${status}`)
  const [, line, aged, seconds] = /^(.*)\n(.*)\n(\d+)\n$/.exec(body) ?? []
  if (type !== 'text/plain; charset=utf-8' || seconds === undefined)
    throw new NoAnswerError('sent an invalid answer')
  return { line: line!, aged: aged!, at: Number(seconds) * 1_000 }
}

const ESCAPE = '\\u001b'
/** Sequences allowed in a line: colours, and links to a page. */
const MARKS = `(${ESCAPE}\\[[\\d;]*m|${ESCAPE}\\]8;;(?:https?:[!-~]*)?\\u0007)`

/**
 * Shortens a line to its maximum width, and removes every control sequence except colours and links (LINE-06,
 * LINE-07).
 */
export function sound(line: string, columns: number | null, cells: Measure): string {
  let left = columns ?? Number.POSITIVE_INFINITY
  return line
    .split(new RegExp(MARKS))
    .map((piece, index) => {
      if (index % 2 === 1) return piece
      const text = left > 0 ? cut(clean(piece), left, cells) : ''
      left -= cells(text)
      return text
    })
    .join('')
}

const LIMIT_BYTES = 256 * 1024

/** Error if the gateway did not answer. The message is short enough for the line, and contains no secret. */
export class NoAnswerError extends Error {
  override name: string = 'NoAnswerError'
}

/** Error if nothing accepts a connection at the gateway's address. */
export class NoGatewayError extends NoAnswerError {
  override name = 'NoGatewayError' as const
  constructor() {
    super('is not there')
  }
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
    const end = (error: NoAnswerError) => {
      clearTimeout(timer)
      socket.destroy()
      reject(error)
    }
    const fail = (reason: string) => end(new NoAnswerError(reason))
    const timer = setTimeout(() => fail('did not answer in time'), ms)
    if (socket.destroyed) return end(new NoGatewayError())
    const authorization = key === null ? '' : `authorization: Bearer ${key}\r\n`
    socket.write(`GET ${target} HTTP/1.0\r\nhost: ${host}\r\n${authorization}\r\n`)
    const chunks: Buffer[] = []
    let bytes = 0
    socket.on('error', ({ syscall }: NodeJS.ErrnoException) =>
      syscall === 'read' || syscall === 'write' ? fail('broke off its answer') : end(new NoGatewayError()),
    )
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

type Env = Readonly<Record<string, string | undefined>>

export const DEFAULT_URL = 'http://127.0.0.1:4949'

export interface GatewayAddress {
  /** As written. */
  readonly url: string
  readonly key: string | null
  /** Name of the variable or file with the key; null without a key. */
  readonly keyFrom: string | null
  /** Reason why a given key is missing; contains no secret. */
  readonly problem: string | null
}

/** Uses the option, then WAYBILL_URL, then the gateway that Claude Code itself calls, with its key. */
export function gatewayAddress(
  url: string | null | undefined,
  keyFile: string | null | undefined,
  env: Env,
): GatewayAddress {
  const named = url ?? env.WAYBILL_URL
  const clients = named === undefined ? clientsOwn(env) : null
  const file = keyFile ?? env.WAYBILL_KEY_FILE ?? null
  const { key, problem } = findKey(env, file)
  const own = key === null ? (clients?.key ?? null) : null
  return {
    url: named ?? clients?.url ?? DEFAULT_URL,
    key: key ?? own,
    keyFrom: key !== null ? (env.WAYBILL_KEY ? 'WAYBILL_KEY' : file) : own && clients!.keyFrom,
    problem,
  }
}

/** Returns the address and key that Claude Code uses instead of Anthropic's; null if it calls Anthropic. */
function clientsOwn(env: Env): { url: string; key: string | null; keyFrom: string } | null {
  const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token, ANTHROPIC_API_KEY: apiKey } = env
  if (!url || /(^|\.)anthropic\.com$/i.test(URL.parse(url)?.hostname ?? '')) return null
  return {
    url,
    key: findKey({ WAYBILL_KEY: token || apiKey }, null).key,
    keyFrom: token ? 'ANTHROPIC_AUTH_TOKEN' : 'ANTHROPIC_API_KEY',
  }
}
