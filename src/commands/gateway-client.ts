// Sends one GET to a running gateway, for commands that read from it. Every failure is a line with advice.
import { existsSync } from 'node:fs'
import { type ZodType, z } from 'zod'
import { type Config, loadConfig } from '../config/load.ts'
import { boundedBody } from '../shared/bounded.ts'
import { holdsCredential, plainAddress } from '../shared/plain-address.ts'
import { DEFAULT_URL } from '../statusline/remote-line.ts'
import { findKey } from '../terminal/keys.ts'
import { UsageError } from './output.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Kinds of failure. absent: nothing accepts a connection. slow: no answer in time. broken: the connection
 * ended before the answer did. stranger: the server is not a gateway. keyless: the gateway requires a key,
 * and none was found. key: the gateway requires a different key. unreadable: the gateway cannot read its
 * record now.
 */
type Trouble = 'absent' | 'slow' | 'broken' | 'stranger' | 'keyless' | 'key' | 'unreadable' | 'refused'

/** Failed access. The message is complete for the user; callers decide by the fields. */
export class GatewayAccessError extends Error {
  override readonly name = 'GatewayAccessError'
  readonly kind: Trouble
  /** The message without its advice. */
  readonly reason: string
  readonly status: number | null
  constructor(kind: Trouble, reason: string, advice: string | null, status: number | null = null) {
    super(advice === null ? reason : `${reason}; ${advice}`)
    this.kind = kind
    this.reason = reason
    this.status = status
  }
}

/** Maximum time for the gateway's answer to a command, ms. */
export const ANSWER_MS = 10_000
/** Maximum bytes of an answer that a command reads whole. The longest ones are artifacts with bodies. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20

/**
 * Requests a path with its query. An answer with a different schema counts as `stranger`. Rejects with
 * GatewayAccessError, or when `signal` aborts.
 */
export type Get = <Answer>(
  target: string,
  shape: ZodType<Answer>,
  signal: AbortSignal,
  method?: 'GET' | 'POST' | 'DELETE',
) => Promise<Answer>

const errorBody = z.looseObject({ error: z.looseObject({ message: z.string(), code: z.unknown() }) })

/** Access to a gateway: its address, the key, and the key's source. */
interface Access {
  readonly base: URL
  readonly key: string | null
  readonly keyFrom: string | null
}

/** Finds the access. Throws if the given key cannot be read. */
function accessTo(base: URL, env: Env, keyFile: string | undefined): Access {
  const file = keyFile ?? env.WAYBILL_KEY_FILE ?? null
  const { key, problem } = findKey(env, file)
  if (problem !== null) throw new Error(problem)
  return { base, key, keyFrom: env.WAYBILL_KEY ? 'WAYBILL_KEY' : file }
}

/** Returns a function that reads from a gateway. Throws if the given key cannot be read. */
export function gatewayAt(base: URL, env: Env, keyFile: string | undefined): Get {
  const access = accessTo(base, env, keyFile)
  return (target, shape, signal, method = 'GET') =>
    exchange(access, target, { method, signal }, async (response) => {
      const body = parsed((await boundedBody(response, MAX_ANSWER_BYTES)).toString('utf8'))
      const answer = shape.safeParse(body)
      if (response.ok && answer.success) return answer.data
      throw refusal(access, response.status, body)
    })
}

/** Passes on an answer of any length in pieces. Rejects with GatewayAccessError, or when `signal` aborts. */
export function streamFrom(
  base: URL,
  env: Env,
  keyFile: string | undefined,
): (target: string, signal: AbortSignal, take: (piece: Uint8Array) => Promise<void>) => Promise<void> {
  const access = accessTo(base, env, keyFile)
  return (target, signal, take) =>
    exchange(access, target, { signal }, async (response) => {
      if (!response.ok)
        throw refusal(
          access,
          response.status,
          parsed((await boundedBody(response, MAX_ANSWER_BYTES)).toString('utf8')),
        )
      for await (const piece of response.body!) await take(piece)
    })
}

/**
 * Returns a function that sends a call to a gateway and reads the answer to its end, whatever it is. `begun`: called with
 * the head of the answer. The function rejects with GatewayAccessError.
 */
export function senderTo(base: URL, env: Env, keyFile: string | undefined) {
  const access = accessTo(base, env, keyFile)
  const { signal } = new AbortController() // a model may take any time
  return (
    target: string,
    init: Pick<RequestInit, 'body' | 'headers'>,
    begun: (response: Response) => void,
  ): Promise<{ readonly status: number; readonly text: string }> =>
    exchange(access, target, { ...init, method: 'POST', signal }, async (response) => {
      begun(response)
      const text = (await boundedBody(response, MAX_ANSWER_BYTES)).toString('utf8')
      return { status: response.status, text }
    })
}

/** Returns the error for a gateway that refuses, or for a server that is not a gateway. */
function refusal({ base, key, keyFrom }: Access, status: number, body: unknown): GatewayAccessError {
  const { origin } = base
  if (status === 401 && key === null)
    return new GatewayAccessError(
      'keyless',
      `the gateway at ${origin} requires a key`,
      'set WAYBILL_KEY, keep it with `waybill key set WAYBILL_KEY`, or name a private file with --key-file',
      status,
    )
  if (status === 401)
    return new GatewayAccessError(
      'key',
      `the gateway at ${origin} does not accept the key from ${keyFrom}`,
      'it is not one of its keys',
      status,
    )
  const told = errorBody.safeParse(body)
  if (!told.success)
    return new GatewayAccessError(
      'stranger',
      `the server at ${origin} is not a Waybill gateway (status ${status})`,
      null,
      status,
    )
  const { message, code } = told.data.error
  return new GatewayAccessError(
    code === 'log_unavailable' ? 'unreadable' : 'refused',
    `the gateway at ${origin} answered ${status}: ${message.replace(/\.$/, '')}`,
    null,
    status,
  )
}

/** Sends one request and reads its answer. Rejects with GatewayAccessError, or when `signal` aborts. */
async function exchange<Read>(
  { base, key }: Access,
  target: string,
  init: RequestInit & { signal: AbortSignal },
  read: (response: Response) => Promise<Read>,
): Promise<Read> {
  let status: number | null = null
  try {
    const headers = new Headers(init.headers)
    if (key !== null) headers.set('authorization', `Bearer ${key}`)
    const response = await fetch(base.href.replace(/\/+$/, '') + target, { ...init, headers })
    status = response.status
    return await read(response)
  } catch (error) {
    const { signal } = init
    if (error instanceof GatewayAccessError || (signal.aborted && signal.reason?.name !== 'TimeoutError'))
      throw error
    if (signal.aborted)
      throw new GatewayAccessError(
        'slow',
        `the server at ${base.origin} did not answer in time`,
        'try again, or look at its process log',
        status,
      )
    const { code = '' } = ((error as Error).cause ?? {}) as { code?: string }
    if (status !== null || code === 'UND_ERR_SOCKET' || code === 'ECONNRESET')
      throw new GatewayAccessError(
        'broken',
        `the server at ${base.origin} broke off its answer`,
        'is it a Waybill gateway?',
        status,
      )
    const why = code === '' || code === 'ECONNREFUSED' ? '' : ` (${code})`
    throw new GatewayAccessError(
      'absent',
      `no gateway answers at ${base.origin}${why}`,
      'start it with `waybill serve`, or name another with --url',
    )
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the address of a gateway with this configuration, as seen from this machine. */
export function gatewayAddress({ server }: Config): URL {
  const host = server.host === '0.0.0.0' || server.host === '::' ? 'localhost' : server.host
  return new URL(`http://${host.includes(':') ? `[${host}]` : host}:${server.port}`)
}

/** Returns the given gateway, or the address in this configuration. Throws UsageError or ConfigError. */
export function namedGateway(url: string | undefined, config: string, env: Env): URL {
  if (url !== undefined) return readAddress('--url', url)
  if (env.WAYBILL_URL) return readAddress('WAYBILL_URL', env.WAYBILL_URL)
  // Reading from a gateway needs no provider keys. Without the file, the default address is used.
  return existsSync(config)
    ? gatewayAddress(loadConfig(config, { env, replay: true }).config)
    : new URL(DEFAULT_URL)
}

/** Parses the address in an option. Throws UsageError. */
export function readAddress(option: string, text: string): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(
      `${option} takes an address such as http://127.0.0.1:4949, not ${JSON.stringify(plainAddress(text))}`,
    )
  if (holdsCredential(text))
    throw new UsageError(
      `${option} must not contain a key, a query or a fragment; put the key into a private file and name it with --key-file`,
    )
  return url
}
