// Where the gateway is and which key it takes, from the options of the command and the environment of the client. Sends no
// request.
import { findKey } from '../terminal/key.ts'

type Env = Readonly<Record<string, string | undefined>>

export const DEFAULT_URL = 'http://127.0.0.1:4949'

export interface GatewayAddress {
  /** As it was written. */
  readonly url: string
  readonly key: string | null
  /** Why there is no key although one was named; holds no secret. */
  readonly problem: string | null
}

/** What was named goes first: the option, then WAYBILL_URL; then the gateway that Claude Code itself calls, with its key. */
export function gatewayAddress(
  url: string | null | undefined,
  keyFile: string | null | undefined,
  env: Env,
): GatewayAddress {
  const named = url ?? env.WAYBILL_URL
  const clients = named === undefined ? clientsOwn(env) : null
  const { key, problem } = findKey(env, keyFile ?? env.WAYBILL_KEY_FILE ?? null)
  return {
    url: named ?? clients?.url ?? DEFAULT_URL,
    key: key ?? clients?.key ?? null,
    problem,
  }
}

/** Where Claude Code calls instead of Anthropic, and with what; null where it calls Anthropic. */
function clientsOwn(env: Env): { url: string; key: string | null } | null {
  const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token, ANTHROPIC_API_KEY: apiKey } = env
  if (!url || /(^|\.)anthropic\.com$/i.test(URL.parse(url)?.hostname ?? '')) return null
  return { url, key: findKey({ WAYBILL_KEY: token || apiKey }, null).key }
}
