// Decompresses answers, because they must be read. The gateway asks providers not to compress, so few do. A
// decompressor is therefore created only for a compressed answer.
import type { Dispatcher } from 'undici'
import { loadDecompress } from './undici.ts'

let decompress: Dispatcher.DispatcherComposeInterceptor | null = null

function makeDecompress(): Dispatcher.DispatcherComposeInterceptor {
  const { emitWarning } = process
  process.emitWarning = () => {} // undici's decompression is experimental; our use of it is tested
  const made = loadDecompress()({ skipErrorResponses: false })
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
