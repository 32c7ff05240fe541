// GET /api/usage/live: server-sent events, one for each change of a call, with the fields of its record. A
// client's key sees only its own calls. A reader that is too slow loses events, is notified, and must read
// the list again.
import type { ServerResponse } from 'node:http'
import { GatewayError } from '../core/errors.ts'
import type { Caller } from '../http/caller.ts'
import type { OtherEndpoint } from '../http/endpoint.ts'
import { countUnread, disconnectAfter, NOSNIFF } from '../http/reply.ts'
import { after, every, on } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import { MEMORY, type MemoryShare } from '../shared/memory.ts'
import type { ReadContext } from './context.ts'
import { noQuery, ownKey } from './query.ts'

/** Maximum concurrent readers, because each occupies a connection. */
const MAX_READERS = 64
/** Maximum bytes that wait for one reader. */
const MAX_WAITING_BYTES = 2 ** 20
/** Interval at which events are sent in batches, ms. */
const TOGETHER_MS = 100
/** Interval of a keep-alive comment, at which the key is also checked again, ms. */
const ALIVE_MS = 15_000

const readers = new WeakMap<object, Set<ServerResponse>>()

export const live = {
  method: 'GET',
  path: '/api/usage/live',
  summary:
    'the calls as they happen, as server-sent events: each change of a call, with the fields of its record',
  mediaType: 'text/event-stream',
  query: noQuery,
  handle({ caller, authenticate }, response, { feed }) {
    const open = readers.get(feed) ?? new Set<ServerResponse>()
    readers.set(feed, open)
    if (open.size >= MAX_READERS)
      throw new GatewayError(
        'overloaded',
        `${open.size} readers already follow the calls. Close a page and try again.`,
        { retryAfter: 5 },
      )
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      ...NOSNIFF,
    })
    if (response.req.method === 'HEAD') {
      response.end()
      return
    }
    open.add(response)
    response.write(': the calls, as they happen\n\n')
    let waiting: string[] = []
    let size = 0
    let share: MemoryShare | null = null
    let lost = false
    let timer: Timer | null = null
    const cut = () => response.destroy()
    const drop = () => {
      share?.release()
      share = null
      waiting = []
      size = 0
    }
    const forget = () => {
      lost = true
      drop()
    }
    const flush = () => {
      if (!isStill(caller, authenticate)) return void response.end()
      const isSlow = response.writableLength > MAX_WAITING_BYTES
      if (isSlow) lost = true
      else {
        response.write(`${lost ? 'event: lost\ndata: {}\n\n' : ''}${waiting.join('')}`)
        lost = false
      }
      countUnread(response, caller.name)
      drop()
      // Reports a loss even if no other call follows.
      timer = isSlow ? after(TOGETHER_MS, flush, cut) : null
    }
    const ignore = feed.listen(ownKey(caller), ({ json }) => {
      size += json.length
      if (size > MAX_WAITING_BYTES) lost = true
      else waiting.push(`event: call\ndata: ${json}\n\n`)
      share ??= MEMORY.open(caller.name, 'cache', forget)
      share.set(Math.min(size, MAX_WAITING_BYTES))
      timer ??= after(TOGETHER_MS, flush, cut)
    })
    const check = () => {
      if (!isStill(caller, authenticate)) response.end()
      else if (response.writableLength <= MAX_WAITING_BYTES) response.write(':\n\n')
    }
    const alive = every(ALIVE_MS, check, cut)
    disconnectAfter(response, 4 * ALIVE_MS)
    const close = () => {
      ignore()
      alive.close()
      timer?.close()
      drop()
      open.delete(response)
    }
    on(response, { close }, close)
    on(response, { drain: () => countUnread(response, caller.name) }, cut)
  },
} satisfies OtherEndpoint<ReadContext>

/** Returns true if the key still has the same name and role. */
function isStill(caller: Caller, authenticate: () => Caller): boolean {
  try {
    const { name, role } = authenticate()
    return name === caller.name && role === caller.role
  } catch {
    return false // it has gone
  }
}

/** Ends open connections, which would otherwise delay the gateway's shutdown. */
export function endLive(feed: object): void {
  for (const response of readers.get(feed) ?? []) response.end()
}
