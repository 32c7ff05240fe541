// GET /api/usage/live: server-sent events, one for each change of a call, as its record will have it; of one's own
// calls for a client's key. A reader that is too slow loses events and is told so, and then reads the list again.
import type { ServerResponse } from 'node:http'
import { GatewayError } from '../errors.ts'
import type { OtherEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery, ownKey } from './query.ts'

/** Readers at the same time: each holds a connection. */
const MOST_READERS = 64
/** What may wait for one of them, bytes. */
const MOST_WAITING = 2 ** 20
/** Events go out together, so often, ms. */
const TOGETHER_MS = 100
/** A comment says that the connection is alive, and the key is looked at again, ms. */
const ALIVE_MS = 15_000

const readers = new WeakMap<object, Set<ServerResponse>>()

export const live = {
  method: 'GET',
  path: '/api/usage/live',
  summary:
    'the calls as they happen, as server-sent events: each change of a call, as its record will have it',
  mediaType: 'text/event-stream',
  query: noQuery,
  handle({ caller, authenticate }, response, { feed }) {
    const open = readers.get(feed) ?? new Set<ServerResponse>()
    readers.set(feed, open)
    if (open.size >= MOST_READERS)
      throw new GatewayError(
        'overloaded',
        `${open.size} readers already follow the calls. Close a page and try again.`,
        { retryAfter: 5 },
      )
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    if (response.req.method === 'HEAD') {
      response.end()
      return
    }
    open.add(response)
    response.write(': the calls, as they happen\n\n')
    let waiting: string[] = []
    let size = 0
    let lost = false
    let timer: NodeJS.Timeout | null = null
    const flush = () => {
      const isSlow = response.writableLength > MOST_WAITING
      if (isSlow) lost = true
      else {
        response.write(`${lost ? 'event: lost\ndata: {}\n\n' : ''}${waiting.join('')}`)
        lost = false
      }
      waiting = []
      size = 0
      // It is told also where no further call follows.
      timer = isSlow ? setTimeout(flush, TOGETHER_MS) : null
    }
    const ignore = feed.listen(ownKey(caller), ({ json }) => {
      size += json.length
      if (size > MOST_WAITING) lost = true
      else waiting.push(`event: call\ndata: ${json}\n\n`)
      timer ??= setTimeout(flush, TOGETHER_MS)
    })
    const alive = setInterval(() => {
      try {
        authenticate()
        if (response.writableLength <= MOST_WAITING) response.write(':\n\n')
      } catch {
        response.end()
      }
    }, ALIVE_MS)
    response.setTimeout(4 * ALIVE_MS, () => response.destroy()) // it takes nothing any more
    response.once('close', () => {
      ignore()
      clearInterval(alive)
      if (timer) clearTimeout(timer)
      open.delete(response)
    })
  },
} satisfies OtherEndpoint<ReadContext>

/** Ends what would otherwise hold a gateway up that stops. */
export function endLive(feed: object): void {
  for (const response of readers.get(feed) ?? []) response.end()
}
