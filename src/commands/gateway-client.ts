// One GET at a running gateway, for the commands that look at one. Every failure is a line that says what to do.
import { existsSync } from 'node:fs'
import { type ZodType, z } from 'zod'
import { type Config, loadConfig } from '../config.ts'
import { DEFAULT_URL } from '../statusline/gateway-address.ts'
import { findKey } from '../terminal/key.ts'
import { UsageError } from './usage-error.ts'

type Env = Readonly<Record<string, string | undefined>>

/** absent: nothing answers. stranger: something other than a gateway answers. key: it requires one. unreadable: it cannot read its record now. */
export type Trouble = 'absent' | 'stranger' | 'key' | 'unreadable' | 'refused'

export class GatewayTrouble extends Error {
  override readonly name = 'GatewayTrouble'
  readonly kind: Trouble
  readonly status: number | null
  constructor(kind: Trouble, message: string, status: number | null = null) {
    super(message)
    this.kind = kind
    this.status = status
  }
}

/** Asks for a path with its query; an answer of another shape comes from a stranger. Rejects with GatewayTrouble, or when `signal` aborts. */
export type Get = <Answer>(
  target: string,
  shape: ZodType<Answer>,
  signal: AbortSignal,
  method?: 'GET' | 'POST',
) => Promise<Answer>

const errorBody = z.looseObject({ error: z.looseObject({ message: z.string(), code: z.unknown() }) })

/** Throws where the key that was named cannot be had. */
export function gatewayAt(base: URL, env: Env, keyFile: string | undefined): Get {
  const { key, problem } = findKey(env, keyFile ?? env.WAYBILL_KEY_FILE ?? null)
  if (problem !== null) throw new Error(problem)
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` }
  return async (target, shape, signal, method = 'GET') => {
    const response = await fetch(base.href.replace(/\/+$/, '') + target, { method, headers, signal }).catch(
      (error) => {
        if (signal.aborted && signal.reason?.name !== 'TimeoutError') throw error
        throw new GatewayTrouble(
          'absent',
          `no gateway answers at ${base.origin}; start it with \`waybill serve\`, or name another with --url`,
        )
      },
    )
    const body: unknown = await response.json().catch(() => undefined)
    const answer = shape.safeParse(body)
    if (response.ok && answer.success) return answer.data
    if (response.status === 401)
      throw new GatewayTrouble(
        'key',
        `the gateway at ${base.origin} requires a key; set WAYBILL_KEY, or name a private file with --key-file`,
        401,
      )
    const told = errorBody.safeParse(body)
    if (!told.success)
      throw new GatewayTrouble(
        'stranger',
        `the server at ${base.origin} is not a Waybill gateway (status ${response.status})`,
        response.status,
      )
    const { message, code } = told.data.error
    throw new GatewayTrouble(
      code === 'log_unavailable' ? 'unreadable' : 'refused',
      `the gateway at ${base.origin} answered ${response.status}: ${message}`,
      response.status,
    )
  }
}

/** Where a gateway with this configuration can be reached from here. */
export function addressOf({ server }: Config): URL {
  const host = server.host === '0.0.0.0' || server.host === '::' ? 'localhost' : server.host
  return new URL(`http://${host.includes(':') ? `[${host}]` : host}:${server.port}`)
}

/** What was named, or where the gateway of this configuration listens. Throws UsageError or ConfigError. */
export function namedGateway(url: string | undefined, config: string, env: Env): URL {
  if (url !== undefined) return readAddress('--url', url)
  if (env.WAYBILL_URL) return readAddress('WAYBILL_URL', env.WAYBILL_URL)
  // Keys of providers are not needed to look at a gateway; a file that is not there says nothing.
  return existsSync(config)
    ? addressOf(loadConfig(config, { env, replay: true }).config)
    : new URL(DEFAULT_URL)
}

/** The address that an option names. Throws UsageError. */
export function readAddress(option: string, text: string): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(
      `${option} takes an address such as http://127.0.0.1:4949, not ${JSON.stringify(text)}`,
    )
  if (url.username || url.password)
    throw new UsageError(
      `${option} must not contain a key; put it into a private file and name it with --key-file`,
    )
  return url
}
