// Loads only the parts of undici that are used, because fetch, WebSockets and caches take 10 MiB more.
import { createRequire } from 'node:module'
import type * as undici from 'undici'

const load = createRequire(import.meta.url)

export const Pool = load('undici/lib/dispatcher/pool.js') as typeof undici.Pool
export const buildConnector = load('undici/lib/core/connect.js') as typeof undici.buildConnector

/** Makes one request and streams its answer; loaded on first use. */
export function request(
  dispatcher: undici.Dispatcher,
  options: undici.Dispatcher.RequestOptions,
): Promise<undici.Dispatcher.ResponseData> {
  const made = load('undici/lib/api/api-request.js') as undici.Dispatcher['request']
  return made.call(dispatcher, options) as Promise<undici.Dispatcher.ResponseData>
}

/** Decompression, loaded for the first compressed answer. */
export const loadDecompress = () =>
  load('undici/lib/interceptor/decompress.js') as typeof undici.interceptors.decompress
