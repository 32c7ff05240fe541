// Loads only the parts of undici that are used, because fetch, WebSockets and caches take 10 MiB more.
import { createRequire } from 'node:module'
import type * as undici from 'undici'
import type { Dispatcher } from 'undici'

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

// Answers are decompressed, because they must be read. The gateway asks providers not to compress, so few do: a
// decompressor is loaded and made only for a compressed answer.
let decompress: Dispatcher.DispatcherComposeInterceptor | null = null

function makeDecompress(): Dispatcher.DispatcherComposeInterceptor {
  const { emitWarning } = process
  process.emitWarning = () => {} // undici's decompression is experimental; our use of it is tested
  const made = (load('undici/lib/interceptor/decompress.js') as typeof undici.interceptors.decompress)({
    skipErrorResponses: false,
  })
  process.emitWarning = emitWarning
  return made
}

/** Returns a handler that decompresses a provider's answer for `handler`. */
export function decompressed(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let made: Dispatcher.DispatchHandler = handler
  decompress ??= makeDecompress()
  decompress((_, wrapped) => {
    made = wrapped
    return true
  })({ path: '/', method: 'POST' }, handler)
  return made
}
