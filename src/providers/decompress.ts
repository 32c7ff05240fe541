// Takes compressed answers apart, because they have to be read. Providers are asked for none, so few send them: a wrapper
// is made when one comes, not for every request.
import { type Dispatcher, interceptors } from 'undici'

const { emitWarning } = process
process.emitWarning = () => {} // undici calls its decompression experimental on every start; we test what we use of it
const decompress = interceptors.decompress({ skipErrorResponses: false })
process.emitWarning = emitWarning

/** A handler that takes what a provider sends and tells `handler` what it means. */
export function decompressed(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let made: Dispatcher.DispatchHandler = handler
  decompress((_, wrapped) => {
    made = wrapped
    return true
  })({ path: '/', method: 'POST' }, handler)
  return made
}
