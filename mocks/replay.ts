// A recording becomes a Response: its status, headers, bytes, chunk boundaries and, by choice, its pace.
// Does not know who asked, nor why this recording was chosen.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Recording } from './recording.ts'

/** `recorded` waits as long between chunks as the recording says, `none` not at all. */
export type Pace = 'recorded' | 'none'

/**
 * Resolves when the first chunk is due, as a provider's response head comes with its first byte;
 * the other chunks follow one by one. Cancelling the body ends it: no later chunk is waited for.
 */
export async function replay({ response, bytes }: Recording, pace: Pace): Promise<Response> {
  const [[, firstDelay] = [0, 0], ...later] = response.chunks
  const stop = new AbortController()
  const wait = (ms: number) => (pace === 'none' ? undefined : sleep(ms, undefined, { signal: stop.signal }))
  await wait(firstDelay)

  const delays = [0, ...later.map(([, delay]) => delay)]
  let next = 0
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        await wait(delays[next]!)
      } catch {
        return // cancelled while waiting
      }
      const [length] = response.chunks[next]!
      controller.enqueue(bytes.slice(sent, sent + length))
      sent += length
      next += 1
      if (next === response.chunks.length) controller.close()
    },
    cancel: () => stop.abort(),
  })
  return new Response(body, {
    status: response.status,
    headers: { ...response.headers, ...framing(response, bytes) },
  })
}

/**
 * How the end of the body is told. Without it the end of the connection would be the end of the body:
 * no connection would be kept, and under interception an abort would look to undici like a broken parser.
 */
function framing({ chunks }: Recording['response'], bytes: Uint8Array): Record<string, string> {
  return chunks.length > 1 ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(bytes.length) }
}
