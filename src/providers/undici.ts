// The parts of undici that are used, loaded by themselves: with fetch, WebSockets and caches it takes 10 MiB more.
import { createRequire } from 'node:module'
import type * as undici from 'undici'

const load = createRequire(import.meta.url)

export const Pool = load('undici/lib/dispatcher/pool.js') as typeof undici.Pool
export const buildConnector = load('undici/lib/core/connect.js') as typeof undici.buildConnector

/** One request whose answer is read as a stream; loaded when the first is made. */
export function request(
  dispatcher: undici.Dispatcher,
  options: undici.Dispatcher.RequestOptions,
): Promise<undici.Dispatcher.ResponseData> {
  const made = load('undici/lib/api/api-request.js') as undici.Dispatcher['request']
  return made.call(dispatcher, options) as Promise<undici.Dispatcher.ResponseData>
}

/** Loaded when the first compressed answer comes. */
export const loadDecompress = () =>
  load('undici/lib/interceptor/decompress.js') as typeof undici.interceptors.decompress
