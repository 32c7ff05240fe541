// Finds the gateway's address and key in the command's options and the environment. Sends no request.
import { findKey } from '../terminal/key.ts'

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
