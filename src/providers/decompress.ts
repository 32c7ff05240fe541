// Takes compressed answers apart, because they have to be read. Providers are asked for none, so few send them: a wrapper
// is made when one comes, not for every request.
import type { Dispatcher } from 'undici'
import { loadDecompress } from './undici.ts'

let decompress: Dispatcher.DispatcherComposeInterceptor | null = null

function makeDecompress(): Dispatcher.DispatcherComposeInterceptor {
  const { emitWarning } = process
  process.emitWarning = () => {} // undici calls its decompression experimental; we test what we use of it
  const made = loadDecompress()({ skipErrorResponses: false })
  process.emitWarning = emitWarning
  return made
}

/** A handler that takes what a provider sends and tells `handler` what it means. */
export function decompressed(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let made: Dispatcher.DispatchHandler = handler
  decompress ??= makeDecompress()
  decompress((_, wrapped) => {
    made = wrapped
    return true
  })({ path: '/', method: 'POST' }, handler)
  return made
}
